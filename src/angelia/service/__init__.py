"""The application: long-lived tasks, and the one place where all parts are put together."""
