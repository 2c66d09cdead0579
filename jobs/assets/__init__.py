"""What the demo needs and no registry ships ready-made: a small chat model, a cut of it, and a labelled text corpus."""
