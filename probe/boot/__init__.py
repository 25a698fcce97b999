"""Act on the boot loader: the list of security modules for the next boot, and the old bytes back."""
