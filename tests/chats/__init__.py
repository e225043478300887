"""The chats: reception, delivery and verbs over a network in this process."""
