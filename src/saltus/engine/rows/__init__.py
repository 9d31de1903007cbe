"""What a search asks of all rows, wherever these are: in memory, on disk, on many machines."""
