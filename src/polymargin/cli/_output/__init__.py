"""Where results go: the terminal, files, and what files hold of data and pictures."""
