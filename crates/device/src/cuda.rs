//! CUDA by its driver alone, found at run time.
