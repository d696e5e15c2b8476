import BellhopCore
import Glibc

/// What `bellhop login` and `bellhop secret set` stored: one file, readable by its owner only.
public struct Keychain: Sendable {
    /// A login as it was typed.
    public struct Login: Sendable, Hashable {
        public var username: String
        public var password: String
        /// Another for each time that a login is stored, so that a password that was refused is tried again once it is stored again.
        public var nonce: String?
        /// Whom it was typed for: the origin of their addresses. It is sent nowhere else.
        public var place: String?

        public init(username: String, password: String, nonce: String? = nil, place: String? = nil) {
            self.username = username
            self.password = password
            self.nonce = nonce
            self.place = place
        }
    }

    public let path: String

    public init(path: String) { self.path = path }

    /// Where the keychain is by default: what `BELLHOP_KEYCHAIN` names, else in a service's own state folder, else in the user's
    /// configuration folder (XDG Base Directory Specification).
    public static func standardPath(environment: [String: String]) -> String {
        if let path = environment["BELLHOP_KEYCHAIN"], !path.isEmpty { return path }
        if let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return "\(folder)/keychain.json" }
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return "\(folder)/bellhop/keychain.json" }
        return "\(environment["HOME"] ?? ".")/.config/bellhop/keychain.json"
    }

    public func secret(_ name: String) throws(SecretError) -> String? { try contents()["secrets"]?[name]?.asString }

    public func secretNames() throws(SecretError) -> [String] { try contents()["secrets"]?.asObject?.keys.sorted() ?? [] }

    /// Nil removes it.
    public func setSecret(_ name: String, to value: String?) throws(SecretError) {
        try change { $0["secrets"] = Self.setting($0["secrets"], name, value.map(JSON.string)) }
    }

    public func login(_ connection: String) throws(SecretError) -> Login? {
        guard let login = try contents()["logins"]?[connection], let username = login["username"]?.asString,
            let password = login["password"]?.asString
        else { return nil }
        return Login(username: username, password: password, nonce: login["nonce"]?.asString, place: login["place"]?.asString)
    }

    public func setLogin(_ connection: String, to login: Login?) throws(SecretError) {
        let value = login.map { login in
            var members: JSON.Object = ["username": .string(login.username), "password": .string(login.password)]
            members["nonce"] = login.nonce.map(JSON.string)
            members["place"] = login.place.map(JSON.string)
            return JSON.object(members)
        }
        try change { $0["logins"] = Self.setting($0["logins"], connection, value) }
    }

    static func setting(_ members: JSON?, _ name: String, _ value: JSON?) -> JSON {
        var object = members?.asObject ?? [:]
        object[name] = value
        return .object(object)
    }

    func contents() throws(SecretError) -> JSON {
        let bytes: [UInt8]?
        do throws(PrivateFile.Trouble) { bytes = try PrivateFile.read(path) } catch { throw SecretError(error) }
        guard let bytes else { return ["version": 1] }
        guard let json = try? JSON.parse(bytes) else {
            throw SecretError("\(path) is damaged and cannot be read as JSON; move it away and log in again.")
        }
        guard json["version"] == .int(1) else {
            throw SecretError("\(path) was written by a newer Bellhop, or is no keychain: it has no `\"version\": 1`.")
        }
        return json
    }

    func change(_ edit: (inout JSON) -> Void) throws(SecretError) {
        do throws(PrivateFile.Trouble) { try PrivateFile.makeFolder(above: path) } catch { throw SecretError(error) }
        var problem: SecretError?
        do throws(PrivateFile.Trouble) {
            try PrivateFile.exclusively(path) { () throws(PrivateFile.Trouble) in
                do throws(SecretError) {
                    var json = try contents()
                    edit(&json)
                    do throws(PrivateFile.Trouble) { try PrivateFile.write(json.encoded(), to: path) } catch {
                        throw SecretError(error)
                    }
                } catch {
                    problem = error
                }
            }
        } catch {
            throw SecretError(error)
        }
        if let problem { throw problem }
    }
}

/// Why a secret could not be had. Never holds one.
public struct SecretError: Error, Sendable, Hashable, CustomStringConvertible {
    public var message: String
    /// True when a file could not be written, or a disk fails (exit 74).
    public var isWriting: Bool = false

    public var description: String { message }

    init(_ message: String) { self.message = message }

    init(_ trouble: PrivateFile.Trouble) {
        message = trouble.message
        isWriting = trouble.isWriting || trouble.code == EIO
    }
}

extension Keychain {
    /// Whether `${{ secret.NAME }}` can ask for a secret of this name.
    public static func isSecretName(_ name: String) -> Bool { Interpolation.isName(name) }
}
