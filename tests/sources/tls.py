"""TLS of servers that a test plays."""

import ssl

from controller.lab.server import ServingCertificate


def serving_tls(files: ServingCertificate, clients: ServingCertificate | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients.certificate)
    return context
