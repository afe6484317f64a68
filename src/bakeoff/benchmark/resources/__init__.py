"""CPU, memory and energy while a benchmark runs."""
