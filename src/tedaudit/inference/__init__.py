"""Model work that mechanisms and attacks share; torch lives here and nowhere else."""
