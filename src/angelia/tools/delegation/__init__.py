"""Work that is given to child conversations: opened, waited for, spoken to, stopped."""
