"""The Redfish service of one BMC: resources, sessions, TLS endpoint.

``routes``     what a resource is: read, patch, create, delete
``answers``    refusals with messages of the Base registry
``bmc``        everything that a resource may touch
``app``        dispatch: authentication, ETags, faults, log of writes
``endpoint``   the TLS listener, which moves when the BMC's address changes
``resources``  one module per Redfish noun
"""
