"""The chats: what comes in, delivery and verbs over a network in this process."""
