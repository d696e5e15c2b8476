public import BellhopCore

extension MobileFoundationConnection {
    /// The settings of a connection of kind `mobilefirst` in bellhop.yaml.
    public static let manifest = ConnectionManifest(
        kind: "mobilefirst", summary: "A Mobile Foundation runtime.", actions: [AdapterAction.manifest.kind],
        settings: [
            Setting("address", .address, required: true, "The server's address, without a path."),
            Setting("runtime", .text, default: "mfp", "The runtime's context root."),
            Setting("client_id", .text, required: true, "The confidential client's id."),
            Setting("client_secret", .secret, required: true, "Its secret."),
            Setting(
                "scope", .list(.text), default: "RegisteredClient",
                "The scopes of a resource's first token; Bellhop learns others from the server."),
            Setting(
                "external", .list(.address),
                "Outside servers that may be called by their full address. A server that asks for a Mobile Foundation token gets one."
            ),
            Setting(
                "service_prefix", .text, default: "services",
                "The path of the API connector's back-end services below /RUNTIME/api/. It is not documented: ask the server's operator."
            ),
        ] + HTTPConnection.Configuration.settings)

    static let kind = ConnectionKind(
        manifest, login: { _ in .configured }, logins: { _ in .loginEvent },
        make: { name, settings, environment throws(ConnectorError) in
            try MobileFoundationConnection(name: name, settings: settings, environment: environment)
        })
}
