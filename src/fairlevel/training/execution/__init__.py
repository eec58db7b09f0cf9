"""How a grid is executed, apart from the maths: groups of fixed size, threads, CUDA graphs."""
