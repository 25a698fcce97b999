"""Every known way out of a Landlock wrapper, tried without it and then with it."""
