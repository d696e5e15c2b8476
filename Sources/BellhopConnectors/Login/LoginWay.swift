/// How a connection says who asks, as its settings have it: what `bellhop login` does for it.
public enum LoginWay: Sendable, Hashable {
    /// Not at all, or in a way that nothing but its use would try; here is why.
    case none(String)
    /// With what bellhop.yaml holds: it can be tried.
    case configured
    /// With a name and a password, which are asked for, tried, and kept in the keychain.
    case asked
    /// With tokens for which a person agrees in a browser.
    case agreed

    /// Whether nothing can be done before `bellhop login` has stored something.
    public var isStored: Bool {
        switch self {
        case .asked, .agreed: true
        case .none, .configured: false
        }
    }
}

/// What trying a login showed, where nothing refused it.
public struct LoginTrial: Sendable, Hashable {
    /// Whom the other side takes us for, `Ada Lovelace (ada)`, or who we say that we are; nil where neither is known.
    public var user: String?
    /// What it does not show; nil where the other side has said that it knows us.
    public var doubt: String?

    public init(user: String?, doubt: String? = nil) {
        self.user = user
        self.doubt = doubt
    }
}

/// A setting of a connection that a person chooses when they log in, from what their account has.
public struct LoginQuestion: Sendable, Hashable {
    public struct Choice: Sendable, Hashable {
        /// What the other side calls it.
        public var key: String
        public var name: String
        /// Whether people know it by its key, too.
        public var showsKey: Bool

        public init(key: String, name: String, showsKey: Bool = false) {
            self.key = key
            self.name = name
            self.showsKey = showsKey
        }
    }

    /// The setting's name in bellhop.yaml.
    public var setting: String
    public var choices: [Choice]

    public init(_ setting: String, _ choices: [Choice]) {
        self.setting = setting
        self.choices = choices
    }
}
