/// A mistake in the settings of a connection, source or action, with its place.
public struct ConnectorError: Error, Sendable, Hashable {
    /// The connection's or source's name in bellhop.yaml.
    public var connection: String
    /// The faulty setting, as a path with dots; nil if the error is not about a single setting.
    public var setting: String?
    /// Whether it is a source's setting.
    public var isOfSource = false
    /// One sentence that says what to do; holds no secret.
    public var message: String

    public init(connection: String, setting: String? = nil, _ message: String) {
        (self.connection, self.setting, self.message) = (connection, setting, message)
    }
}

/// Why a text is not a valid value.
public struct InvalidValue: Error, Sendable, Hashable {
    /// One sentence, without the text itself where it may hold secrets.
    public var message: String
}

extension ConnectorError {
    /// Reads a setting; an invalid value is an error in that setting.
    static func reading<Value>(
        _ setting: String, of connection: String, _ read: () throws(InvalidValue) -> Value
    ) throws(ConnectorError) -> Value {
        do throws(InvalidValue) { return try read() } catch {
            throw ConnectorError(connection: connection, setting: setting, error.message)
        }
    }
}

/// All errors in the connections and sources of one configuration; never empty.
public struct ConnectorErrors: Error, Sendable, Hashable {
    public var all: [ConnectorError]

    public init(_ all: [ConnectorError]) { self.all = all }

    /// One line per error.
    public var message: String { all.map { "\($0.connection): \($0.message)" }.joined(separator: "\n") }
}

/// Gathers the errors in the settings of one connection, so that all are reported.
struct ConnectorProblems {
    private let connection: String
    private(set) var all: [ConnectorError] = []

    init(of connection: String) { self.connection = connection }

    mutating func add(_ setting: String?, _ message: String) {
        all.append(ConnectorError(connection: connection, setting: setting, message))
    }

    /// Returns the closure's result. If it throws, adds its errors and returns nil.
    mutating func gather<Value>(_ make: () throws(ConnectorError) -> Value) -> Value? {
        do throws(ConnectorError) { return try make() } catch {
            all.append(error)
            return nil
        }
    }

    mutating func gather<Value>(_ make: () throws(ConnectorErrors) -> Value) -> Value? {
        do throws(ConnectorErrors) { return try make() } catch {
            all += error.all
            return nil
        }
    }

    mutating func gather<Value>(_ setting: String, _ make: () throws(InvalidValue) -> Value) -> Value? {
        do throws(InvalidValue) { return try make() } catch {
            add(setting, error.message)
            return nil
        }
    }

    func check() throws(ConnectorErrors) {
        if !all.isEmpty { throw ConnectorErrors(all) }
    }
}

extension HTTPAddress {
    /// The address of a server, from a setting: without a path, a user and a password.
    init(server text: String, _ setting: String, of connection: String) throws(ConnectorError) {
        self = try ConnectorError.reading(setting, of: connection) { () throws(InvalidValue) in
            let address = try HTTPAddress(ASCII.trimmed(text))
            guard address.target == "/", address.userInfo == nil else {
                throw InvalidValue(message: "Write the server's address without a path, user or password.")
            }
            return address
        }
    }

    /// The address of a path below this one, from a setting of a source.
    func inside(_ path: String, _ setting: String, of source: String) throws(ConnectorError) -> HTTPAddress {
        try ConnectorError.reading(setting, of: source) { () throws(InvalidValue) in try inside(path) }
    }
}
