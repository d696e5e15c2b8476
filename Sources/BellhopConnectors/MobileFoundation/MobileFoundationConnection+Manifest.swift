public import BellhopCore

extension MobileFoundationConnection {
    /// The settings of a connection of kind `mobilefirst` in bellhop.yaml.
    public static let manifest = ConnectionManifest(
        kind: "mobilefirst", role: .system, summary: "A Mobile Foundation runtime.", actions: [AdapterAction.manifest.kind],
        settings: [
            Setting("address", .address, required: true, "The server's address, without a path."),
            Setting("runtime", .text, default: "mfp", "The runtime's context root."),
            Setting("client_id", .text, required: true, "The confidential client's id."),
            Setting("client_secret", .secret, required: true, "Its secret."),
            Setting(
                "scope", .list(.text), default: "RegisteredClient",
                "The scopes of the first token of a resource; others are learnt from what the server asks for."),
            Setting(
                "external", .list(.address),
                "Servers outside that may be asked by their whole address. One that asks for a token of Mobile Foundation gets it."
            ),
            Setting(
                "service_prefix", .text, default: "services",
                "Where the back-end services of the API connector are, below /RUNTIME/api/. Nobody documents it: ask who runs the server."
            ),
        ] + HTTPConnection.Configuration.settings)

    static let kind = ConnectionKind(
        manifest, login: { _ in .configured }, logins: { _ in .loginEvent },
        make: { name, settings, environment throws(ConnectorError) in
            try MobileFoundationConnection(name: name, settings: settings, environment: environment)
        })
}
