"""What calls change in a workspace of this machine is kept before it is changed, so that it can be taken back."""
