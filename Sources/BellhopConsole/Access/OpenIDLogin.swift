import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopInbound

/// Logs people in with their accounts at an OpenID provider: redirects the browser there, and begins a session when it returns. Only the
/// browser remembers the login, so that strangers cannot push out the logins of others.
struct OpenIDLogin: Sendable {
    /// The path of this page, the redirect URI that must be registered with the provider.
    static let path = ["login", "openid"]
    /// How long a login may take.
    static let span = Duration.seconds(600)
    /// The longest address of a page to open after the login, in bytes: browsers refuse cookies of more than 4 KB.
    private static let longestNext = 3000

    private let view: AgentView
    private let provider: OpenIDProvider
    private let configuration: ConsoleConfiguration.OpenID
    private let cookie: String

    /// Nil if bellhop.yaml names no provider.
    init?(_ view: AgentView) {
        guard let provider = view.provider, let configuration = view.configuration.openID else { return nil }
        self.view = view
        self.provider = provider
        self.configuration = configuration
        cookie = view.configuration.loginCookie
    }

    func answer(_ request: ConsoleRequest, _ authenticator: Authenticator) async throws(Problem) -> ConsoleAnswer {
        guard request.method == "GET" else { throw Problem(405, "Only GET is possible here.", allow: "GET") }
        // An error may come without the state; another login would end with it, too.
        if request.value("state") == nil, request.value("error") == nil { return try await begin(request, authenticator) }
        return try await complete(request, authenticator)
    }

    private func begin(_ request: ConsoleRequest, _ authenticator: Authenticator) async throws(Problem) -> ConsoleAnswer {
        let next = request.value("next").flatMap { Pages.isPage($0) ? PercentEncoding.encode($0) : nil } ?? ""
        // A secret, when the login began, and the page to open afterwards.
        let content = [
            ConsoleToken.random(), String(view.clock.now.seconds), next.utf8.count > Self.longestNext ? "" : next,
        ].joined(separator: ".")
        let page: String
        do throws(OpenIDProvider.Problem) {
            page = try await provider.page(of: provider.login(content, redirect: address))
        } catch {
            throw Problem(502, error.message)
        }
        var answer = ConsoleAnswer.seeOther(page)
        answer.fields += [authenticator.cookie(cookie, content, for: Self.span), ("Cache-Control", "no-store")]
        return answer
    }

    private func complete(_ request: ConsoleRequest, _ authenticator: Authenticator) async throws(Problem) -> ConsoleAnswer {
        let content = request.cookie(cookie) ?? ""
        let login = provider.login(content, redirect: address)
        let parts = content.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard request.value("state") == login.state, parts.count == 3, let begun = Int64(parts[1]),
            view.clock.now - Timestamp(seconds: begun) < Self.span
        else {
            throw Problem(403, "This login was begun in another browser, or too long ago. Log in again.")
        }
        guard let code = request.value("code"), !code.isEmpty else {
            let error = request.value("error").map { String($0.prefix(60)) } ?? "no code"
            throw Problem(403, "\(configuration.settings.issuer) did not log you in: \(error).")
        }
        let person: OpenIDProvider.Person
        do throws(OpenIDProvider.Problem) {
            person = try await provider.person(code, of: login)
        } catch {
            throw Problem(502, error.message)
        }
        guard let role = configuration.role(of: person.claims) else {
            throw Problem(403, "Your account, \(person.name), has no role in this console: `openid` in bellhop.yaml gives roles.")
        }
        var answer = ConsoleAnswer.seeOther(parts[2].isEmpty ? "/" : PercentEncoding.decode(parts[2]))
        answer.fields += [
            authenticator.cookie(for: authenticator.logIn(person.name, role)),
            authenticator.cookie(cookie, "", for: Self.span), ("Cache-Control", "no-store"),
        ]
        return answer
    }

    private var address: String { (view.configuration.publicURL ?? ownAddress) + "/" + Self.path.joined(separator: "/") }

    /// The address at which the console listens.
    private var ownAddress: String {
        guard let place = view.configuration.place else { return "" }
        let host = place.host.contains(":") ? "[\(place.host)]" : place.host
        return "\(view.configuration.tls == nil ? "http" : "https")://\(host):\(place.port)"
    }
}
