"""S4: truth by SQL, human review, and a decision between two systems."""
