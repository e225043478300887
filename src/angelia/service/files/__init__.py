"""Files of people, on their way in and out."""
