/// Detects login pages, and redirects to them, sent in place of the requested page.
enum LoginPage {
    /// Whether a page is a login page by its content: a password field, a form that submits itself to an identity provider, or
    /// only a redirect to a login.
    static func isOne(_ body: [UInt8]) -> Bool {
        let text = ASCII.lowercased(String(decoding: body.prefix(256 << 10), as: UTF8.self))
        guard text.contains("<") else { return false }
        return hasPassword(text) || redirectsToLogin(text)
    }

    /// Whether a page is the placeholder of a hibernating developer instance.
    static func isHibernating(_ body: [UInt8]) -> Bool {
        ASCII.lowercased(String(decoding: body.prefix(256 << 10), as: UTF8.self)).contains("instance-hibernating-page")
    }

    /// Whether an address looks like a login, by the words of its host and path and the query parameters of single sign-on.
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

    /// - Parameter text: the page, in lower case.
    static func hasPassword(_ text: String) -> Bool {
        ["type=\"password\"", "type='password'", "type=password"].contains { text.contains($0) }
    }

    /// - Parameter text: the page, in lower case.
    static func redirectsToLogin(_ text: String) -> Bool {
        if text.contains("<form"), text.contains("samlrequest") || text.contains("samlresponse") { return true }
        guard text.utf8.count < 8192, text.contains("login") || text.contains("signin") || text.contains("/sso") else {
            return false
        }
        return text.contains("http-equiv=\"refresh\"") || text.contains("http-equiv='refresh'") || text.contains("location.href")
            || text.contains("location.replace") || text.contains("window.location") || text.contains("top.location")
    }
}
