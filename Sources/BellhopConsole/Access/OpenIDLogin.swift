import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopInbound
import Synchronization

/// Logs people in with their accounts at an OpenID provider: redirects the browser there, and begins a session when it returns.
///
/// A class over a mutex, because a login takes two requests, which share its state.
final class OpenIDLogin: Sendable {
    /// A login that a browser has begun, and the page to open afterwards.
    private struct Begun {
        var login: OpenIDProvider.Login
        var next: String
        var time: Timestamp
    }

    /// The path of this page, the redirect URI that must be registered with the provider.
    static let path = ["login", "openid"]
    private static let cookie = "bellhop_login"
    /// How long a login may take.
    static let span = Duration.seconds(600)
    private static let most = 1000

    private let view: AgentView
    private let provider: OpenIDProvider
    private let configuration: ConsoleConfiguration.OpenID
    private let begun = Mutex<[String: Begun]>([:])

    /// Nil if bellhop.yaml names no provider.
    init?(_ view: AgentView) {
        guard let provider = view.provider, let configuration = view.configuration.openID else { return nil }
        self.view = view
        self.provider = provider
        self.configuration = configuration
    }

    func answer(_ request: ConsoleRequest, _ authenticator: Authenticator) async throws(Problem) -> ConsoleAnswer {
        guard request.method == "GET" else { throw Problem(405, "Only GET is possible here.", allow: "GET") }
        if request.value("state") == nil { return try await begin(request, authenticator) }
        return try await end(request, authenticator)
    }

    private func begin(_ request: ConsoleRequest, _ authenticator: Authenticator) async throws(Problem) -> ConsoleAnswer {
        let login: OpenIDProvider.Login
        do throws(OpenIDProvider.Problem) {
            login = try await provider.begin(redirect: address)
        } catch {
            throw Problem(502, error.message)
        }
        let (id, now) = (ConsoleToken.random(), view.clock.now)
        let next = request.value("next") ?? "/"
        begun.withLock { begun in
            begun = begun.filter { now - $0.value.time < Self.span }
            if begun.count >= Self.most, let oldest = begun.min(by: { $0.value.time < $1.value.time }) { begun[oldest.key] = nil }
            begun[ConsoleToken.hash(of: id)] = Begun(login: login, next: Pages.isPage(next) ? next : "/", time: now)
        }
        var answer = ConsoleAnswer.seeOther(login.page)
        answer.fields += [authenticator.cookie(Self.cookie, id, for: Self.span), ("Cache-Control", "no-store")]
        return answer
    }

    private func end(_ request: ConsoleRequest, _ authenticator: Authenticator) async throws(Problem) -> ConsoleAnswer {
        let now = view.clock.now
        let begun = request.cookie(Self.cookie).flatMap { id in
            self.begun.withLock { $0.removeValue(forKey: ConsoleToken.hash(of: id)) }
        }
        guard let begun, now - begun.time < Self.span, request.value("state") == begun.login.state else {
            throw Problem(403, "This login was begun in another browser, or too long ago. Log in again.")
        }
        guard let code = request.value("code"), !code.isEmpty else {
            let error = request.value("error").map { String($0.prefix(60)) } ?? "no code"
            throw Problem(403, "\(configuration.settings.issuer) did not log you in: \(error).")
        }
        let person: OpenIDProvider.Person
        do throws(OpenIDProvider.Problem) {
            person = try await provider.person(code, of: begun.login)
        } catch {
            throw Problem(502, error.message)
        }
        guard let role = configuration.role(of: person.claims) else {
            throw Problem(403, "Your account, \(person.name), has no role in this console: `openid` in bellhop.yaml gives roles.")
        }
        var answer = ConsoleAnswer.seeOther(begun.next)
        answer.fields += [
            authenticator.cookie(for: authenticator.logIn(person.name, role)),
            authenticator.cookie(Self.cookie, "", for: Self.span), ("Cache-Control", "no-store"),
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
