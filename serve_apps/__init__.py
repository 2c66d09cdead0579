"""What Ray Serve runs."""
