"""Operations on a server through its BMC (connector ``@redfish``), one module a noun.

Every write is followed by a read-back (``EXPECT``) that fails when the value is not there: a 2xx proves nothing. An
operation that cannot do its work yields ``REFUSE`` with the reason; raising would stop every host.
"""
