"""The Redfish service of one BMC: resources, sessions, TLS endpoint.

``routes``     what a resource is: read, patch, create, delete
``answers``    refusals with messages of the Base registry
``bmc``        everything that a resource may touch
``app``        dispatch: authentication, ETags, faults, log of writes
``deeds``      what rules do to one request
``updates``    firmware updates; ``fetching`` gets their images, and media
``traffic``    what the BMC saw
``pace``       latency and requests in flight
``acceptor``   TCP connections, given to the BMC that their destination names
``endpoint``   the TLS listener, which moves when the BMC's address changes
``resources``  one module per Redfish noun
"""
