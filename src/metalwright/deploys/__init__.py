"""pyinfra deploys: the phases of both sides of a server."""
