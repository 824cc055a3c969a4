"""Reading records singly, in ranges and in blocks, and recovery from damaged ones."""
