"""Golden models: what each op must do, in NumPy. One op a file, named for the op."""
