public import BellhopCore

extension HTTPConnection {
    /// The client certificate, as paths that this process can open.
    public struct ClientCertificate: Sendable, Hashable {
        /// A PEM file: the client's certificate first, then the intermediates.
        public var chain: String
        /// A PEM file without a password.
        public var key: String
    }

    /// The HTTP settings that every kind of connection may have in bellhop.yaml.
    public struct Configuration: Sendable, Hashable, CustomStringConvertible {
        /// The connection's name, for messages.
        public var name: String
        /// A PEM file with authorities to trust besides the system's.
        public var ca: String?
        /// For servers that request a client certificate.
        public var certificate: ClientCertificate?
        /// From a request's start to the last byte of its answer.
        public var timeout: Duration
        public var proxy: HTTPAddress?
        public var rate: Rate?
        /// Sent with every request that does not set them itself.
        public var headers: HeaderFields
        /// Whether plain http may be used to other machines.
        public var plainHTTP: Bool
        /// The largest answer, in bytes, after decompression.
        public var maxBody: Int
        /// Whether to refuse addresses of this machine and its networks: for hosts computed from values.
        public var refusesPrivate = false
        /// The ports of such hosts that are allowed besides those of HTTP.
        var morePorts: [Int] = []
        var delivery = DeliverySettings()

        public init(
            name: String, ca: String? = nil, timeout: Duration = .seconds(30), headers: HeaderFields = [:],
            plainHTTP: Bool = false, maxBody: Int = 64 << 20
        ) {
            self.name = name
            self.ca = ca
            self.timeout = timeout
            self.headers = headers
            self.plainHTTP = plainHTTP
            self.maxBody = maxBody
        }

        /// Only the name: the rest may hold secrets.
        public var description: String { "HTTPConnection.Configuration(\(name))" }

        static func problems(_ name: String, _ settings: Settings) -> [ConnectorError] {
            var configuration = Configuration(name: name)
            return configuration.read(settings)
        }

        /// Reads checked settings; throws the first of ``problems(_:_:)``.
        public init(name: String, _ settings: Settings) throws(ConnectorError) {
            self.init(name: name)
            if let problem = read(settings).first { throw problem }
        }

        private mutating func read(_ settings: Settings) -> [ConnectorError] {
            var problems = ConnectorProblems(of: name)
            ca = settings.text("ca")
            timeout = settings.duration("timeout") ?? timeout
            delivery = DeliverySettings(settings)
            plainHTTP = settings.boolean("plain_http") ?? false
            maxBody = settings.integer("max_body") ?? maxBody
            if let text = settings.text("proxy") {
                proxy = problems.gather("proxy") { () throws(InvalidValue) in try HTTPAddress(text) }
                if proxy?.isSecure == true {
                    problems.add("proxy", "A proxy needs an http:// address (the requests through it stay encrypted).")
                }
            }
            if let record = settings.record("rate") {
                rate = Rate(record)
                if rate == nil { problems.add("rate", "A rate is a number per time, such as 60/m.") }
            }
            for (field, value) in settings.record("headers")?.values ?? [:] {
                if case .string(let text) = value, HeaderFields.isName(field), HeaderFields.isValue(text) {
                    headers.add(field, text)
                } else {
                    problems.add("headers.\(field)", "This is not a valid header field.")
                }
            }
            return problems.all
        }

        /// Why an address must not be used: its requests would cross the network unencrypted. Nil if it may be used.
        public func refusal(of address: HTTPAddress) -> String? {
            if address.isSecure || plainHTTP { return nil }
            if let proxy {
                return
                    "Plain http:// to \(address.place) could be read by others on the way to the proxy \(proxy.place) and beyond: use https://, or set plain_http: true."
            }
            if address.isLoopback { return nil }
            return "Plain http:// to \(address.place) could be read by others: use https://, or set plain_http: true."
        }

        /// The settings that every kind of connection has, for its manifest.
        public static let settings: [Setting] = [
            Setting("ca", .path, "A PEM file with certificate authorities to trust in addition to the system's."),
            Setting("timeout", .duration, default: "30s", least: "1ms", "The time limit of a request, including the answer."),
            Setting(
                "proxy", .secret, "The http:// address of a proxy; those in the environment, such as `https_proxy`, are not used."
            ),
            Setting("rate", .rate, "The maximum rate of requests, such as 60/m."),
            Setting("headers", .map(.secret), refusedNames: HeaderFields.reserved, "Header fields for every request."),
            Setting(
                "plain_http", .boolean, default: "false",
                "Allow http:// to other machines, or through a `proxy`; anyone on the way can read along."),
            Setting("max_body", .size, default: "64MB", least: "1KB", "The largest answer to read."),
        ]
    }
}
