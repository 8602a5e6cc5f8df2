"""Model code that mechanisms and attacks share; torch is imported here and nowhere else."""
