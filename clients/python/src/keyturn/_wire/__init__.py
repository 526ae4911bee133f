"""Wire format: requests, answers, errors."""
