"""The wrapper. Standard library only; imports nothing outside this folder, because it is installed alone."""
