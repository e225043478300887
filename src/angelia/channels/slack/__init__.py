"""Slack: an app's bot in direct messages, channels and threads, by Socket Mode or over webhooks."""
