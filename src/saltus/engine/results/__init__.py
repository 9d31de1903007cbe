"""What a fit leaves behind: networks, draws, and what they predict."""
