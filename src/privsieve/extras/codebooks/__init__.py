"""Read code books of SPSS, Stata, SAS, Excel and Frictionless."""
