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
