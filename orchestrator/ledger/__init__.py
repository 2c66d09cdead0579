"""The append-only record: node intervals with the price paid, runs, attempts, events, actions; cost reports."""
