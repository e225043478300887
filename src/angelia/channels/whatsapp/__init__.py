"""WhatsApp by Meta's Cloud API: webhooks in, calls of the Graph API out."""
