public import BellhopConnectors
public import BellhopCore
import Glibc

/// The logins and secrets stored by `bellhop login` and `bellhop secret set`: one file, readable by its owner only.
///
/// Each project has its own section. The shared entries serve every project that has no entry of that name.
public struct Keychain: Sendable {
    /// Whose section is used: the `project` of a bellhop.yaml.
    public struct Project: Sendable, Hashable {
        public var id: String
        /// The bellhop.yaml that names it, to detect copies.
        public var file: String
    }

    /// A login as it was typed.
    public struct Login: Sendable, Hashable {
        public var username: String
        public var password: String
        /// New each time a login is stored, so that a refused password is tried again after it is stored again.
        public var nonce: String?
        /// The origin that the login was typed for. It is sent nowhere else.
        public var place: String?
        /// The connection settings that the person chose while logging in; bellhop.yaml must name them.
        public var choices: JSON.Object

        public init(
            username: String, password: String, nonce: String? = nil, place: String? = nil, choices: JSON.Object = [:]
        ) {
            self.username = username
            self.password = password
            self.nonce = nonce
            self.place = place
            self.choices = choices
        }
    }

    public let path: String
    /// The project whose entries are used; nil for only the shared entries.
    public let project: Project?

    public init(path: String, project: Project? = nil) { (self.path, self.project) = (path, project) }

    /// The same keychain, for another project.
    public func of(_ project: Project?) -> Keychain { Keychain(path: path, project: project) }

    /// The default path: `BELLHOP_KEYCHAIN`, else in a service's state folder, else in the user's configuration folder (XDG Base
    /// Directory Specification).
    public static func standardPath(environment: [String: String]) -> String {
        if let path = environment["BELLHOP_KEYCHAIN"], !path.isEmpty { return path }
        if let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return "\(folder)/keychain.json" }
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return "\(folder)/bellhop/keychain.json" }
        return "\(environment["HOME"] ?? ".")/.config/bellhop/keychain.json"
    }

    /// Whether `${{ secret.NAME }}` can refer to a secret of this name.
    public static func isSecretName(_ name: String) -> Bool { Interpolation.isName(name) }

    public func secret(_ name: String) throws(SecretError) -> String? {
        let contents = try contents()
        return (own(contents)?["secrets"]?[name] ?? contents["secrets"]?[name])?.asString
    }

    /// The names of the secrets that the project can use: its own, and the shared ones.
    public func secretNames() throws(SecretError) -> (own: [String], shared: [String]) {
        let contents = try contents()
        func names(_ section: JSON?) -> [String] { (section?["secrets"]?.asObject ?? [:]).keys.sorted() }
        let own = project == nil ? [] : names(own(contents))
        return (own, names(contents).filter { !own.contains($0) })
    }

    /// The projects in the keychain, each with the bellhop.yaml that last changed it. Leaves out projects whose file no longer exists or names
    /// another project.
    public func projects() throws(SecretError) -> [Project] {
        (try contents()["projects"]?.asObject ?? [:]).sorted { $0.key < $1.key }.compactMap { id, section in
            guard let file = section["file"]?.asString, ProjectLine.id(in: file) == id else { return nil }
            return Project(id: id, file: file)
        }
    }

    /// Stores a secret; nil removes it. Changes only this keychain's section: the project's, or without a project the shared
    /// one.
    public func setSecret(_ name: String, to value: String?) throws(SecretError) {
        try set("secrets", name, to: value.map(JSON.string))
    }

    public func login(_ connection: String) throws(SecretError) -> Login? {
        guard let login = try section(of: connection)["logins"]?[connection], let username = login["username"]?.asString,
            let password = login["password"]?.asString
        else { return nil }
        return Login(
            username: username, password: password, nonce: login["nonce"]?.asString, place: login["place"]?.asString,
            choices: login["choices"]?.asObject ?? [:])
    }

    public func setLogin(_ connection: String, to login: Login?) throws(SecretError) {
        let value = login.map { login in
            var members: JSON.Object = ["username": .string(login.username), "password": .string(login.password)]
            members["nonce"] = login.nonce.map(JSON.string)
            members["place"] = login.place.map(JSON.string)
            if !login.choices.isEmpty { members["choices"] = .object(login.choices) }
            return JSON.object(members)
        }
        try set("logins", connection, to: value)
    }

    /// Removes the login and the tokens of a connection; false if this keychain's section has neither.
    public func logOut(of connection: String) throws(SecretError) -> Bool {
        guard try hasOwnLogin(connection) else { return false }
        try setLogin(connection, to: nil)
        try setTokens(connection, to: nil)
        return true
    }

    /// Whether this keychain's section has a login or tokens for a connection.
    func hasOwnLogin(_ connection: String) throws(SecretError) -> Bool {
        Self.hasLogin(connection, own(try contents()) ?? [:])
    }

    /// Whether the shared entries have a login or tokens for a connection.
    public func isShared(_ connection: String) throws(SecretError) -> Bool { Self.hasLogin(connection, try contents()) }

    // MARK: - Sections

    /// The section that this keychain writes to; nil if the project has none yet.
    private func own(_ contents: JSON) -> JSON? {
        guard let project else { return contents }
        return contents["projects"]?[project.id]
    }

    /// The section with a connection's login. It is one section, so that a shared password never mixes with a project's own tokens.
    func section(of connection: String) throws(SecretError) -> JSON {
        let contents = try contents()
        guard let own = own(contents), Self.hasLogin(connection, own) else { return contents }
        return own
    }

    private static func hasLogin(_ connection: String, _ section: JSON) -> Bool {
        section["logins"]?[connection] != nil || section["tokens"]?[connection] != nil
    }

    /// Sets one entry in this keychain's section; nil removes the entry.
    /// - Parameter fits: whether the entry that is there now may be replaced.
    func set(
        _ kind: String, _ name: String, to value: JSON?, if fits: (JSON?) -> Bool = { _ in true }
    ) throws(SecretError) {
        if let project { try refuseCopy(of: project) }
        try change { contents in
            var section = own(contents) ?? [:]
            guard fits(section[kind]?[name]) else { return }
            guard let project else { return contents[kind] = Self.setting(contents[kind], name, value) }
            section["file"] = .string(project.file)
            section[kind] = Self.setting(section[kind], name, value)
            contents["projects"] = Self.setting(contents["projects"], project.id, section)
        }
    }

    /// Throws if another bellhop.yaml has the same project: one is a copy, and must not replace the logins of the other.
    private func refuseCopy(of project: Project) throws(SecretError) {
        guard let other = try contents()["projects"]?[project.id]?["file"]?.asString, other != project.file,
            ProjectLine.id(in: other) == project.id
        else { return }
        throw SecretError(
            "\(project.file) names the same project as \(other), whose logins and secrets this would change: "
                + "delete its line `\(ProjectLine.key): \(project.id)`, then it gets a new id.")
    }

    private static func setting(_ members: JSON?, _ name: String, _ value: JSON?) -> JSON {
        var object = members?.asObject ?? [:]
        object[name] = value
        return .object(object)
    }

    func contents() throws(SecretError) -> JSON {
        let bytes: [UInt8]?
        do throws(PrivateFile.FileError) { bytes = try PrivateFile.read(path) } catch { throw SecretError(error) }
        guard let bytes else {
            // Perhaps its volume is not mounted: a new file in its place would hide what it has.
            if SharedFile.isLink(path) {
                throw SecretError(
                    "\(path) is a link to a file that is missing: mount or restore the file, or remove the link to begin a new keychain."
                )
            }
            return ["version": 1]
        }
        guard let json = try? JSON.parse(bytes) else {
            throw SecretError("\(path) is damaged and cannot be read as JSON; move it away and log in again.")
        }
        guard json["version"] == .int(1) else {
            throw SecretError("\(path) was written by a newer Bellhop, or is not a keychain: it has no `\"version\": 1`.")
        }
        return json
    }

    func change(_ edit: (inout JSON) -> Void) throws(SecretError) {
        let problem = try rethrowing(as: SecretError.init) { () throws(PrivateFile.FileError) in
            try exclusively { target throws(PrivateFile.FileError) -> SecretError? in
                var json: JSON
                do throws(SecretError) { json = try contents() } catch { return error }
                edit(&json)
                let bytes = json.encoded()
                guard bytes.count <= PrivateFile.largest else {
                    return SecretError(
                        "\(path) would become larger than \(PrivateFile.largest) bytes, the most that Bellhop reads; nothing was stored."
                    )
                }
                try PrivateFile.write(bytes, to: target)
                return nil
            }
        }
        if let problem { throw problem }
    }

    /// Runs `work` on the file under the lock of all commands and agents that change it. Of a link, the file is the target: other programs may
    /// use it by its own path.
    func exclusively<Value>(
        _ work: (_ target: String) throws(PrivateFile.FileError) -> Value
    ) throws(PrivateFile.FileError) -> Value {
        try PrivateFile.makeFolder(above: path)
        let target = SharedFile.resolved(path)
        return try PrivateFile.exclusively(target) { () throws(PrivateFile.FileError) -> Value in try work(target) }
    }
}

/// Why a secret could not be read. Never holds a secret.
public struct SecretError: Error, Sendable, Hashable, CustomStringConvertible {
    public var message: String
    /// True if a file could not be written, or a disk failed (exit 74).
    public var isWriting: Bool = false
    /// Whether a later attempt may succeed without a change of the configuration (exit 75).
    public var isTemporary = false

    public var description: String { message }

    init(_ message: String, isTemporary: Bool = false) { (self.message, self.isTemporary) = (message, isTemporary) }

    init(_ error: PrivateFile.FileError) {
        message = error.message
        isWriting = error.isWriting || error.code == EIO
    }
}

/// The keychain holds the tokens from `bellhop login`, updated whenever a server replaces a refresh token.
extension Keychain: TokenStorage {
    public func tokens(of connection: String) async throws -> StoredTokens? { try storedTokens(connection) }

    /// Stores them in the section of the old tokens, which are useless now. Does nothing if a person has logged in again or logged out since
    /// the old tokens were read.
    public func keep(_ tokens: StoredTokens, of connection: String) async throws {
        let ownMark = try own(contents())?["tokens"]?[connection]?["mark"]?.asString
        // Also those with a mark may be shared though the project has a login: a person stored it since.
        let areShared =
            try tokens.mark.isEmpty ? isShared(connection) && !hasOwnLogin(connection) : ownMark != tokens.mark
        try (areShared ? of(nil) : self).setTokens(connection, to: tokens) { present in
            tokens.mark.isEmpty || present?["mark"]?.asString == tokens.mark
        }
    }

    public func storedTokens(_ connection: String) throws(SecretError) -> StoredTokens? {
        guard let kept = try section(of: connection)["tokens"]?[connection], let origin = kept["origin"]?.asString else {
            return nil
        }
        var expires: Timestamp?
        if case .int(let micros)? = kept["expires"] { expires = Timestamp(microseconds: micros) }
        return StoredTokens(
            access: kept["access"]?.asString, expires: expires, refresh: kept["refresh"]?.asString,
            username: kept["username"]?.asString ?? "", origin: origin, mark: kept["mark"]?.asString ?? "",
            client: kept["client"]?.asObject.map { Settings($0) })
    }

    /// Nil removes them.
    /// - Parameter fits: whether the present tokens may be replaced.
    public func setTokens(
        _ connection: String, to tokens: StoredTokens?, if fits: (JSON?) -> Bool = { _ in true }
    ) throws(SecretError) {
        let value = tokens.map { tokens in
            var members: JSON.Object = ["origin": .string(tokens.origin), "username": .string(tokens.username)]
            members["access"] = tokens.access.map(JSON.string)
            members["expires"] = tokens.expires.map { JSON.int($0.microseconds) }
            members["refresh"] = tokens.refresh.map(JSON.string)
            if !tokens.mark.isEmpty { members["mark"] = .string(tokens.mark) }
            members["client"] = tokens.client.map { JSON.object($0.values) }
            return JSON.object(members)
        }
        try set("tokens", connection, to: value, if: fits)
    }
}
