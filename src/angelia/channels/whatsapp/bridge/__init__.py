"""WhatsApp of a personal number: a linked device, held by a bridge process in Node that is supervised here."""
