/// Pages that ask who one is, or lead to where one is asked, in the place of the page that was wanted.
enum LoginPage {
    /// Whether a page is one by what it has: a field for a password, a form that takes one to an identity provider by itself, or nothing but
    /// the way to a login.
    static func isOne(_ body: [UInt8]) -> Bool {
        let text = ASCII.lowercased(String(decoding: body.prefix(256 << 10), as: UTF8.self))
        guard text.contains("<") else { return false }
        return hasPassword(text) || leadsOn(text)
    }

    /// Whether a page is the one that stands in the place of a developer instance while it sleeps.
    static func isHibernating(_ body: [UInt8]) -> Bool {
        ASCII.lowercased(String(decoding: body.prefix(256 << 10), as: UTF8.self)).contains("instance-hibernating-page")
    }

    /// Whether an address looks like one where somebody logs in, by the words of its host and path and what single sign-on puts into queries.
    static func isLogin(_ address: HTTPAddress) -> Bool {
        let target = ASCII.lowercased(address.target)
        let words = (ASCII.lowercased(address.host) + " " + target.prefix { $0 != "?" })
            .split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let beginnings = [
            "login", "logon", "signin", "sso", "saml", "adfs", "oauth", "openid", "idp", "okta", "onelogin", "microsoftonline",
        ]
        let whole: Set<Substring> = ["auth", "auth0", "authorize", "authenticate", "accounts", "identity"]
        if words.contains(where: { word in whole.contains(word) || beginnings.contains { word.hasPrefix($0) } }) { return true }
        return ["samlrequest=", "client_id=", "wtrealm="].contains { target.contains($0) }
    }

    /// Whether there is a field for a password.
    static func hasPassword(_ text: String) -> Bool {
        ["type=\"password\"", "type='password'", "type=password"].contains { text.contains($0) }
    }

    /// Whether a page, in lower case, sends its reader to a login by itself.
    static func leadsOn(_ text: String) -> Bool {
        if text.contains("<form"), text.contains("samlrequest") || text.contains("samlresponse") { return true }
        guard text.utf8.count < 8192, text.contains("login") || text.contains("signin") || text.contains("/sso") else {
            return false
        }
        return text.contains("http-equiv=\"refresh\"") || text.contains("http-equiv='refresh'") || text.contains("location.href")
            || text.contains("location.replace") || text.contains("window.location") || text.contains("top.location")
    }
}
