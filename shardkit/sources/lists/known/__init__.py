"""Read well-known datasets whose authors distribute the labels in a form that the general list files do not cover."""
