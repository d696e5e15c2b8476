public import BellhopCore
import Crypto

/// A token of the console that a command made. Only its hash is stored, so that a reader of the store cannot log in with it.
public struct ConsoleToken: Sendable, Hashable {
    /// The name of the user, for the audit.
    public var name: String
    public var role: ConsoleRole
    /// The SHA-256 of the token, in hexadecimal digits.
    public var hash: String
    public var created: Timestamp

    public init(name: String, role: ConsoleRole, hash: String, created: Timestamp) {
        (self.name, self.role, self.hash, self.created) = (name, role, hash, created)
    }

    /// Why a user cannot have this name, as a sentence; nil if a user can. The audit must be able to show names unchanged.
    public static func refusal(of name: String) -> String? {
        if name.isEmpty || name.utf8.count > 100 { return "The name of a user has 1 to 100 bytes." }
        if name.unicodeScalars.contains(where: \.isInvisible) {
            return "The name `\(name.visible)` has characters that are not shown, such as line ends."
        }
        if name.first?.isWhitespace == true || name.last?.isWhitespace == true {
            return "The name `\(name)` begins or ends with a blank."
        }
        return nil
    }

    /// Why a token that a command makes cannot have this name, as a sentence; nil if it can.
    /// - Parameter users: the names of the console's users in bellhop.yaml.
    public static func refusal(of name: String, users: [String]) -> String? {
        if users.contains(name) {
            return "bellhop.yaml names a user `\(name)` already: remove that one, or choose another name."
        }
        return refusal(of: name)
    }

    /// A new random token: 256 bits.
    public static func random() -> String { "bh_" + Hexadecimal.random(words: 4) }

    /// Whether a token has the form of ``random()``. Such a token cannot be guessed; any other was chosen by a person.
    public static func isRandom(_ token: String) -> Bool {
        token.hasPrefix("bh_") && token.utf8.count == 67
            && token.utf8.dropFirst(3).allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
    }

    /// The hash that is stored for a token. A plain hash suffices, because tokens are random and long.
    public static func hash(of token: String) -> String { Hexadecimal.text(SHA256.hash(data: Array(token.utf8))) }

    static let note = "console/tokens"

    var json: JSON { ["role": .string(role.rawValue), "hash": .string(hash), "created": .string(created.rfc3339)] }

    /// The token without its hash, for output.
    var shown: JSON { ["name": .string(name), "role": .string(role.rawValue), "created": .string(created.rfc3339)] }

    init?(name: String, json: JSON) {
        guard let role = json["role"]?.asString.flatMap(ConsoleRole.init), let hash = json["hash"]?.asString,
            let created = json["created"]?.asMoment
        else { return nil }
        self.init(name: name, role: role, hash: hash, created: created)
    }
}

extension Inquirer {
    /// The stored tokens, in the order of their names.
    public func tokens() async throws(StoreError) -> [ConsoleToken] { try await store.consoleTokens() }

    /// The stored tokens that are accepted. A token whose name bellhop.yaml gives to a user is not.
    public func acceptedTokens() async throws(StoreError) -> [ConsoleToken] {
        try await store.consoleTokens().filter { ConsoleToken.refusal(of: $0.name, users: users) == nil }
    }

    /// Stores a token, in place of an earlier one of the same name.
    func add(_ token: ConsoleToken) async throws(StoreError) -> JSON {
        if let refusal = ConsoleToken.refusal(of: token.name, users: users) { throw StoreError(.other, refusal) }
        await tokenGate.enterUncancelled()
        defer { tokenGate.leave() }
        var note = try await store.consoleNote()
        let isNew = note[token.name] == nil
        note[token.name] = token.json
        try await store.setNote(
            ConsoleToken.note, to: .object(note), by: .addToken,
            ["name": .string(token.name), "role": .string(token.role.rawValue)], at: clock.now)
        return ["changed": .bool(isNew)]
    }

    /// Removes a token. Further requests with it are refused.
    func removeToken(of name: String) async throws(StoreError) -> JSON {
        await tokenGate.enterUncancelled()
        defer { tokenGate.leave() }
        var note = try await store.consoleNote()
        guard note[name] != nil else { return ["changed": false] }
        note[name] = nil
        try await store.setNote(
            ConsoleToken.note, to: .object(note), by: .removeToken, ["name": .string(name)], at: clock.now)
        return ["changed": true]
    }
}

extension Store {
    /// The stored tokens of the console, in the order of their names, without unreadable ones.
    func consoleTokens() async throws(StoreError) -> [ConsoleToken] {
        try await consoleNote().compactMap { ConsoleToken(name: $0.key, json: $0.value) }.sorted { $0.name < $1.name }
    }

    fileprivate func consoleNote() async throws(StoreError) -> JSON.Object {
        try await readNote(ConsoleToken.note)?.asObject ?? [:]
    }
}
