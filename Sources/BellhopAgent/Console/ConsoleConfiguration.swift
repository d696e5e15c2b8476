public import BellhopConnectors
public import BellhopCore
public import BellhopInbound
import BellhopRules
import YAML

/// The actions that a user may take in the console.
public enum ConsoleRole: String, Sendable, Hashable, CaseIterable {
    /// May only look.
    case viewer
    /// May also retry, drop, edit, pause, silence and replay.
    case `operator`
    /// May also change rules in the workbench.
    case admin
}

/// The console, as bellhop.yaml configures it.
public struct ConsoleConfiguration: Sendable {
    /// Nil if there is no console.
    public var place: InboundServer.Address?
    public var users: [User] = []
    /// Nil if it speaks plain HTTP.
    public var tls: Certificate?
    /// The origin under which browsers reach the console, such as `https://bellhop.example.com`; nil if it is the address at which it
    /// listens.
    public var publicURL: String?
    /// Whether an admin may change rule files.
    public var mayEdit = false
    /// The provider at which people log in with their own accounts; nil if only tokens are accepted.
    public var openID: OpenID?

    public init() {}

    /// The name of a session's cookie.
    public var sessionCookie: String { "bellhop_session_\(port)" }
    /// The name of the cookie of a login at an OpenID provider.
    public var loginCookie: String { "bellhop_login_\(port)" }

    /// The console's port, for the names of cookies: browsers send a cookie to all ports of a host, where the console of another project may
    /// listen.
    private var port: Int { publicURL.flatMap { try? HTTPAddress($0) }?.port ?? place?.port ?? 0 }

    public struct User: Sendable {
        public var name: String
        public var role: ConsoleRole
        public var token: String

        public init(name: String, role: ConsoleRole, token: String) { (self.name, self.role, self.token) = (name, role, token) }
    }

    /// A provider of accounts, and the roles of these accounts in the console.
    public struct OpenID: Sendable {
        public var settings: OpenIDProvider.Settings
        /// A PEM file with authorities to trust in addition to the system's.
        public var ca: String?
        /// The claim that gives roles. If no claim has this whole name, a dot separates a claim from the name of a member in it.
        public var claim: String
        /// The values of the claim that give a role; `*` for everybody.
        public var roles: [ConsoleRole: Set<String>]

        /// The highest role that these claims give; nil for none.
        public func role(of claims: JSON) -> ConsoleRole? {
            let value = claims[claim] ?? claim.split(separator: ".").reduce(Optional(claims)) { $0?[String($1)] }
            // Anybody may have entered an address that the provider has not verified; some providers write a text here.
            let verified = claims["email_verified"]
            let isClaimed = claim == "email" && (verified == false || verified == "false")
            let held = isClaimed ? [] : Set(value?.asString.map { [$0] } ?? value.texts)
            return [ConsoleRole.admin, .operator, .viewer].first { role in
                guard let wanted = roles[role] else { return false }
                return wanted.contains("*") || !wanted.isDisjoint(with: held)
            }
        }
    }

    /// The paths of PEM files.
    public struct Certificate: Sendable {
        public var certificate: String
        public var key: String

        public init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
    }
}

extension ConfigurationManifest {
    public static let console: [Setting] = [
        Setting(
            "listen", .text, required: true,
            "The address and port of the console; beyond this machine only with `tls` or `public_url`.",
            example: "listen: \"127.0.0.1:8090\""),
        Setting("users", .list(.record(consoleUser)), "Who may log in; `bellhop console token` adds others."),
        Setting("openid", .record(consoleOpenID), "Lets people log in with their accounts at a provider (OpenID Connect)."),
        Setting("tls", .record(consoleTLS), "A certificate, so that the console speaks HTTPS."),
        Setting(
            "public_url", .text,
            "The address under which browsers reach the console through a proxy, such as `https://bellhop.example.com`; without a path."
        ),
        Setting("edit", .boolean, default: "false", "Whether an admin may change and make rule files in the workbench."),
    ]

    public static let consoleUser: [Setting] = [
        Setting("name", .text, required: true, "The name in the audit."),
        Setting("token", .text, required: true, "The token with which the user logs in: at least 16 characters."),
        Setting("role", .oneOf(ConsoleRole.allCases.map(\.rawValue)), default: "viewer", "What the user may do."),
    ]

    public static let consoleOpenID: [Setting] = [
        Setting(
            "issuer", .text, required: true,
            "The provider's address, exactly as it names itself: `https://login.example.com/realms/acme`."),
        Setting("client_id", .text, required: true, "The OAuth client ID of this console at the provider."),
        Setting("client_secret", .secret, "The client's secret; a public client has none."),
        Setting("scope", .text, default: "openid profile email", "The scopes to ask for."),
        Setting("name", .text, default: "email", "The claim that names a person in the audit."),
        Setting(
            "claim", .text, default: "groups",
            "The claim that gives roles, such as `groups` or `https://example.com/roles`. A dot may select a member of a claim: `realm_access.roles`."
        ),
        Setting("viewers", .list(.text), "The values of the claim that make a viewer; `*` for everybody with an account."),
        Setting("operators", .list(.text), "The values of the claim that make an operator."),
        Setting("admins", .list(.text), "The values of the claim that make an admin."),
        Setting("ca", .path, "A PEM file with certificate authorities to trust in addition to the system's."),
    ]

    public static let consoleTLS: [Setting] = [
        Setting("cert", .path, required: true, "The PEM file of the certificate chain."),
        Setting("key", .path, required: true, "The PEM file of its private key."),
    ]
}

struct ConsoleReading {
    /// Resolves a path in the file against the file's folder.
    let path: (String) -> String

    /// The fewest characters of a token: a short one could be guessed.
    private static let shortest = 16

    func configuration(_ settings: Settings?, _ node: Node?, _ reader: inout SettingsReader<Never>) -> ConsoleConfiguration {
        var console = ConsoleConfiguration()
        guard let settings, let node, let place = InboundServer.Address.read(settings, node, port: 8090, &reader) else {
            return console
        }
        console.place = place
        console.mayEdit = settings.boolean("edit") ?? false
        if let tls = settings.record("tls"), let certificate = tls.text("cert"), let key = tls.text("key") {
            console.tls = .init(certificate: path(certificate), key: path(key))
        }
        if let url = settings.text("public_url") {
            let address = try? HTTPAddress(url)
            console.publicURL = address?.origin
            if address?.target != "/" {
                reader.report(
                    code: "wrong-value",
                    address == nil
                        ? "`public_url` is not the address of a web page" : "the console cannot have a path in `public_url`",
                    at: node["public_url"] ?? node,
                    help: "let the proxy give the console a host of its own: `public_url: https://bellhop.example.com`")
            }
        }
        if !Loopback.contains(place.host.lowercased()), console.tls == nil, console.publicURL?.hasPrefix("https://") != true {
            reader.report(
                code: "open-console", "the console would listen at \(place.host) without encryption", at: node["listen"] ?? node,
                help: "listen at 127.0.0.1, or add `tls`, or name the proxy's address with `public_url: https://…`")
        }
        console.openID = openID(settings.record("openid"), node["openid"] ?? node, &reader)
        console.users = users(settings, node["users"], &reader)
        return console
    }

    private func openID(
        _ settings: Settings?, _ node: Node, _ reader: inout SettingsReader<Never>
    ) -> ConsoleConfiguration.OpenID? {
        guard let settings, let issuer = settings.text("issuer"), let client = settings.text("client_id") else { return nil }
        var roles: [ConsoleRole: Set<String>] = [:]
        for (name, role) in [("viewers", ConsoleRole.viewer), ("operators", .operator), ("admins", .admin)] {
            let values = settings.texts(name)
            if !values.isEmpty { roles[role] = Set(values) }
        }
        if roles.isEmpty {
            reader.report(
                code: "wrong-value", "`openid` gives no one a role", at: node,
                help: "add `viewers`, `operators` or `admins`: `viewers: [\"*\"]` lets everybody with an account look")
        }
        do throws(InvalidValue) {
            let address = try HTTPAddress(issuer)
            if let refusal = HTTPConnection.Configuration(name: "openid").refusal(of: address) {
                reader.report(code: "plain-http", refusal, at: node["issuer"] ?? node)
            }
        } catch {
            reader.report(
                code: "wrong-value", "`issuer` is not an https address: \(error.message)", at: node["issuer"] ?? node)
        }
        return ConsoleConfiguration.OpenID(
            settings: OpenIDProvider.Settings(
                issuer: issuer, clientID: client, clientSecret: settings.text("client_secret"),
                scope: settings.text("scope") ?? "openid profile email", nameClaim: settings.text("name") ?? "email"),
            ca: settings.text("ca").map(path), claim: settings.text("claim") ?? "groups", roles: roles)
    }

    private func users(
        _ settings: Settings, _ node: Node?, _ reader: inout SettingsReader<Never>
    ) -> [ConsoleConfiguration.User] {
        guard case .array(let items)? = settings.values["users"] else { return [] }
        var users: [ConsoleConfiguration.User] = []
        for (place, item) in items.enumerated() {
            let at = node?.items?[place] ?? node
            guard let name = item["name"]?.asString, let token = item["token"]?.asString, let at else { continue }
            if let refusal = ConsoleToken.refusal(of: name) {
                reader.report(code: "wrong-value", refusal, at: at["name"] ?? at)
            } else if !HeaderFields.isValue(token) || token.first?.isWhitespace == true || token.last?.isWhitespace == true {
                reader.report(
                    code: "wrong-value",
                    "the token of `\(name)` begins or ends with a blank, or has a line end or another invisible character",
                    at: at["token"] ?? at, help: "a program could not send it: use one line without blanks around it")
            } else if token.count < Self.shortest {
                reader.report(
                    code: "wrong-value", "the token of `\(name)` has fewer than \(Self.shortest) characters",
                    at: at["token"] ?? at, help: "use a random one, for example from `openssl rand -base64 24`")
            } else if users.contains(where: { $0.name == name }) {
                reader.report(code: "duplicate", "there are two users `\(name)`", at: at["name"] ?? at)
            } else if users.contains(where: { $0.token == token }) {
                reader.report(
                    code: "duplicate", "`\(name)` has the same token as another user", at: at["token"] ?? at,
                    help: "give each user a different token")
            } else {
                let role = item["role"]?.asString.flatMap(ConsoleRole.init) ?? .viewer
                users.append(.init(name: name, role: role, token: token))
            }
        }
        return users
    }
}
