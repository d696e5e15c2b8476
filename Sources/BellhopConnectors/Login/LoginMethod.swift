/// How a connection authenticates according to its settings, which decides what `bellhop login` does.
public enum LoginMethod: Sendable, Hashable {
    /// No login, or one that cannot be tried in advance; the text explains it.
    case none(String)
    /// With credentials from bellhop.yaml, which can be tried.
    case configured
    /// With a name and a password that `bellhop login` asks for, tries, and stores in the keychain.
    case prompt
    /// With tokens that a person authorizes in a browser.
    case browser

    /// Whether the connection works only after `bellhop login` has stored a login.
    public var isStored: Bool {
        switch self {
        case .prompt, .browser: true
        case .none, .configured: false
        }
    }
}

/// The result of trying a login that was not refused.
public struct LoginTrial: Sendable, Hashable {
    /// The user according to the system, `Ada Lovelace (ada)`, or else the configured one; nil if neither is known.
    public var user: String?
    /// A sentence about what is still uncertain; nil if the system confirmed the user.
    public var doubt: String?
}

/// A setting of a connection that a person chooses when logging in, from what their account offers.
public struct LoginQuestion: Sendable, Hashable {
    public struct Choice: Sendable, Hashable {
        /// The system's name for it.
        public var key: String
        public var name: String
        /// Whether to show the key too, because people know it.
        public var showsKey = false
    }

    /// The setting's name in bellhop.yaml.
    public var setting: String
    public var choices: [Choice]

    public init(_ setting: String, _ choices: [Choice]) { (self.setting, self.choices) = (setting, choices) }
}
