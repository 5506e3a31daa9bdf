"""The figures of the book: one function each, in the module of its subject, made in the house style of `style`."""
