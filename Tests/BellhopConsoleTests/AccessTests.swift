import BellhopAgent
import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConsole

@Suite struct `Access to the console` {
    let fixture: ConsoleFixture

    init() async throws { fixture = try await ConsoleFixture() }

    @Test func `without a login, pages lead to the login, and forms and the API refuse`() async throws {
        try await fixture.happen("A printer burns")
        for page in Pages.all {
            let answer = await fixture.desk.answer(ConsoleRequest("GET", page.path))
            #expect(
                answer.status == 303 && answer.field("Location")?.hasPrefix("/login?next=%2F") == true && answer.bytes.isEmpty,
                "\(page.path)")
        }
        for act in Pages.acts {
            #expect(await fixture.desk.answer(ConsoleRequest("POST", act.path)).status == 401, "\(act.path)")
        }
        for operation in Operations.all {
            let (status, json, _) = await fixture.api(operation.method.rawValue, operation.path, as: nil)
            #expect(status == 401 && json["detail"]?.asString?.contains("Bearer") == true, "\(operation.id)")
        }
    }

    @Test func `the login page leads a person who is logged in to the page that was asked for`() async throws {
        let browser = try await ConsoleFixture().logIn(as: .viewer)
        #expect(await browser.get("/login?next=/rules").field("Location") == "/rules")
        #expect(await browser.get("/login?next=//evil.example").field("Location") == "/")
        #expect(await browser.get("/login").field("Location") == "/")
    }

    /// The inquiries that not every user may send, with the role that each needs.
    private static let inquiries: [(Inquiry, ConsoleRole)] = [
        (.apply(.drop, deliveries: []), .operator), (.pause(.receiver("ops"), reason: ""), .operator),
        (.pause(.writes, reason: ""), .operator), (.resume(.writes), .operator),
        (
            .addSilence(
                Silence(when: nil, starts: TestClock().now, ends: TestClock().now + .seconds(60), reason: "", by: "")), .operator
        ),
        (.endSilence("x"), .operator), (.forget(task: "INC1"), .operator), (.form("x"), .operator),
        (.edit(FormEdit(delivery: "x", before: "", after: "")), .operator), (.replay(ReplayRequest(events: ["x"])), .operator),
        (.tokens, .admin), (.addToken(ConsoleToken(name: "x", role: .admin, hash: "x", created: TestClock().now)), .admin),
        (.removeToken(of: "x"), .admin), (.keepRefusal("refused-login/snow", nil), .admin),
        (.keychainChanged(.secret("x"), in: KeychainPlace(Keychain(path: "x"), project: nil)), .admin),
    ]

    @Test func `a role allows only its actions`() async throws {
        // What every user may send changes nothing, except that it ends the user's own session.
        let harmless = Operations.all.filter { $0.role == .viewer && $0.method != .get }.map(\.id)
        #expect(Set(harmless) == ["inquire", "previewSilence"])
        #expect(Pages.acts.filter { $0.role == .viewer }.map(\.path) == ["/logout"])
        for role in [ConsoleRole.viewer, .operator] {
            let browser = try await fixture.logIn(as: role)
            for operation in Operations.all where !role.includes(operation.role) {
                let answer = await fixture.api(operation.method.rawValue, operation.path, as: role, body: [:])
                #expect(answer.status == 403, "\(role) \(operation.id)")
            }
            for page in Pages.all + Pages.acts where !role.includes(page.role) {
                let answer = await (page.method == .get ? browser.get(page.path) : browser.post(page.path))
                #expect(answer.status == 403, "\(role) \(page.path)")
            }
            for (inquiry, needed) in Self.inquiries where !role.includes(needed) {
                let answer = await fixture.api("POST", "/inquiries", as: role, body: inquiry.json)
                #expect(answer.status == 403, "\(role) \(inquiry)")
            }
        }
        #expect(try await fixture.store.stops().isEmpty)
    }

    @Test func `a silence made through the console has the name of the token's user`() async throws {
        let silence = Silence(
            when: nil, starts: fixture.clock.now, ends: fixture.clock.now + .seconds(60), reason: "x", by: "somebody else")
        let body = Inquiry.addSilence(silence).json
        var lines = try await fixture.api("POST", "/inquiries", as: .operator, body: body).answer.stream
        while try await lines.next() != nil {}
        #expect(try await fixture.store.silences().map(\.silence.by) == ["the operator"])
    }

    @Test func `a receiver that does not exist cannot be paused`() async throws {
        let pausing = Inquiry.pause(.receiver("nosuch"), reason: "").json
        #expect(await fixture.api("POST", "/inquiries", as: .operator, body: pausing).status == 404)
        #expect(try await fixture.store.stops().isEmpty)
    }

    @Test func `after ten wrong tokens an address waits a minute, unless it sends a token made by Bellhop`() async throws {
        let random = try await fixture.addToken("eve")
        let chosen = ConsoleFixture.tokens[.viewer] ?? ""
        for number in 0..<Authenticator.maxFailures {
            #expect(await fixture.status(with: number % 2 == 0 ? "wrong" : ConsoleToken.random()) == 401)
        }
        #expect(await fixture.status(with: "wrong") == 429)
        #expect(await fixture.status(with: random) == 200)
        #expect(await fixture.status(with: chosen) == 429)
        #expect(await fixture.status(with: ConsoleToken.random()) == 429)
        #expect(await fixture.status(with: "wrong", from: "192.0.2.8") == 401)
        #expect(await fixture.status(with: chosen, from: "192.0.2.8") == 200)
        await fixture.clock.advance(by: Authenticator.span)
        #expect(await fixture.status(with: chosen) == 200)
        #expect(await fixture.status(with: "wrong") == 401)
    }

    @Test func `after the clock was set back, no address waits until the old time comes again`() async throws {
        let token = try #require(ConsoleFixture.tokens[.viewer])
        for _ in 0..<Authenticator.maxFailures { #expect(await fixture.status(with: "wrong") == 401) }
        #expect(await fixture.status(with: token) == 429)
        await fixture.clock.jump(to: fixture.clock.now - .seconds(3600))
        #expect(await fixture.status(with: token) == 200)
    }

    @Test func `behind a proxy the client's address is the last one that the proxy names`() async throws {
        let fixture = try await ConsoleFixture(publicURL: "https://bellhop.example")
        func attempt(_ fields: String...) async -> Int {
            await fixture.desk.answer(
                ConsoleRequest(
                    "GET", "/api/v1/status",
                    headers: [("Authorization", "Bearer wrong")] + fields.map { ("X-Forwarded-For", $0) }, peer: "127.0.0.1")
            ).status
        }
        for number in 0..<Authenticator.maxFailures { #expect(await attempt("203.0.113.\(number), 192.0.2.1") == 401) }
        for same in ["203.0.113.99, 192.0.2.1", "203.0.113.99,\t192.0.2.1:5555", "192.0.2.1"] {
            #expect(await attempt(same) == 429, "\(same)")
        }
        #expect(await attempt("192.0.2.2") == 401)
        // A proxy may add a field of its own behind the other side's.
        #expect(await attempt("192.0.2.3", "192.0.2.1") == 429)
        #expect(await attempt("192.0.2.1", "192.0.2.3") == 401)
        #expect(await attempt("[2001:db8::1]:5555") == 401)
    }

    @Test func `a token made by a command and its sessions work until it is removed, and the store has only its hash`()
        async throws
    {
        let token = try await fixture.addToken("eve", .operator)
        let browser = try await fixture.logIn(with: token)
        #expect(await fixture.status(with: token) == 200)
        #expect(await browser.get("/").status == 200)
        #expect(try await fixture.store.note("console/tokens")?.text.contains(token) == false)
        let listed = try await fixture.view.ask(.tokens).end
        #expect(listed.at("tokens")?[0]?["name"] == "eve" && !listed.text.contains(ConsoleToken.hash(of: token)))
        _ = try await fixture.view.ask(.removeToken(of: "eve"))
        #expect(await fixture.status(with: token) == 401)
        #expect(await browser.get("/").status == 303)
        let acts = await fixture.api("GET", "/audit").json["rows"]?.asArray?.compactMap { $0["entry"]?.asString } ?? []
        #expect(acts.contains { $0.contains("console token add") } && acts.contains { $0.contains("console token remove") })
        #expect(!acts.contains { $0.contains(token) || $0.contains(ConsoleToken.hash(of: token)) })
    }

    @Test func `tokens that are added and removed at the same time are all added and removed`() async throws {
        for number in 0..<10 { _ = try await fixture.addToken("old \(number)") }
        try await withThrowingTaskGroup { group in
            for number in 0..<10 {
                group.addTask { _ = try await fixture.addToken("new \(number)") }
                group.addTask { _ = try await fixture.view.ask(.removeToken(of: "old \(number)")) }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.view.inquirer.tokens().map(\.name) == (0..<10).map { "new \($0)" })
    }

    @Test func `a token's name is printable, and no user of bellhop.yaml has it`() async throws {
        func add(_ name: String) async throws -> String {
            let token = ConsoleToken(name: name, role: .viewer, hash: "x", created: fixture.clock.now)
            let answer = await fixture.api("POST", "/inquiries", as: .admin, body: Inquiry.addToken(token).json).answer
            guard case .stream(var lines) = answer.body else { return answer.text }
            return try await lines.next() ?? ""
        }
        for name in [
            "eve\nadmin", "eve\u{202e}", "eve\u{7f}", "e\u{200d}ve", "eve ", " ", "", String(repeating: "e", count: 101),
            "the operator",
        ] { #expect(try await add(name).contains("\"end\"") == false, "\(name.visible)") }
        #expect(try await add("Zoë Müller").contains("\"end\""))
        #expect(try await fixture.view.ask(.tokens).end["tokens"]?.asArray?.count == 1)
    }

    @Test func `a live stream ends soon after its token was removed, or its user logged out`() async throws {
        func watch(_ field: (String, String)) async throws -> any ConsoleStream {
            let request = ConsoleRequest("GET", "/api/v1/events/stream?after=0", headers: [field])
            var stream = try await fixture.desk.answer(request).stream
            let begin = try await stream.next()
            #expect(begin?.contains("watching") == true)
            return stream
        }
        var kept = try await watch(("Authorization", "Bearer \(try await fixture.addToken("kept"))"))
        var removed = try await watch(("Authorization", "Bearer \(try await fixture.addToken("removed"))"))
        let (leaving, staying) = (try await fixture.logIn(as: .viewer), try await fixture.logIn(as: .viewer))
        var left = try await watch(("Cookie", leaving.cookie))
        var stayed = try await watch(("Cookie", staying.cookie))
        var blank = try await watch(("Authorization", "bearer \(ConsoleFixture.tokens[.operator] ?? "")"))
        _ = try await fixture.view.ask(.removeToken(of: "removed"))
        #expect(await leaving.post("/logout").status == 303)
        await fixture.clock.advance(by: .seconds(15))
        _ = try await fixture.happen(["A printer burns"])
        let ended = [try await removed.next(), try await left.next()]
        #expect(ended == [nil, nil])
        let going = [try await kept.next(), try await stayed.next(), try await blank.next()]
        for text in going { #expect(text?.contains("A printer burns") == true) }
    }

    @Test func `too many logins of a user end only sessions of this user`() async throws {
        let admin = try await fixture.logIn(as: .admin)
        let first = try await fixture.logIn(as: .viewer)
        await fixture.clock.advance(by: .seconds(1))
        for _ in 0..<Authenticator.maxOfOne { _ = try await fixture.logIn(as: .viewer) }
        #expect(await first.get("/").status != 200)
        #expect(await admin.get("/").status == 200)
    }

    @Test func `a session ends when its user logs out, and after twelve hours without a request`() async throws {
        let browser = try await fixture.logIn(as: .viewer)
        await fixture.clock.advance(by: Authenticator.idle - .seconds(1))
        #expect(await browser.get("/").status == 200)
        await fixture.clock.advance(by: Authenticator.idle - .seconds(1))
        #expect(await browser.get("/").status == 200)
        await fixture.clock.advance(by: Authenticator.idle)
        #expect(await browser.get("/").status == 303)
        let other = try await fixture.logIn(as: .viewer)
        let left = await other.post("/logout")
        #expect(left.status == 303 && left.field("Cache-Control") == "no-store")
        #expect(left.field("Set-Cookie")?.contains("Max-Age=0") == true)
        #expect(await other.get("/").status == 303)
    }

    @Test func `another site's page cannot act in the name of a user`() async throws {
        let browser = try await fixture.logIn(as: .admin)
        let elsewhere = [("Origin", "https://evil.example"), ("Host", "127.0.0.1:8090")]
        for act in Pages.acts {
            let answers = [
                await browser.post(act.path, withToken: false),
                await browser.post(act.path, [("form_token", "guessed")], withToken: false),
                await browser.post(act.path, headers: elsewhere),
            ]
            #expect(answers.map(\.status) == [403, 403, 403], "\(act.path)")
        }
        for operation in Operations.all where operation.method != .get {
            let call = ConsoleRequest(
                operation.method.rawValue, "/api/v1" + operation.path,
                headers: [("Cookie", browser.cookie), ("Content-Type", "application/json")], body: Array("{}".utf8))
            #expect(await fixture.desk.answer(call).status == 403, "\(operation.id)")
        }
        #expect(try await fixture.store.stops().isEmpty)
        #expect(
            await browser.post(
                "/receivers/ops/pause", headers: [("Origin", "http://127.0.0.1:8090"), ("Host", "127.0.0.1:8090")]
            ).status
                == 303)
        #expect(try await fixture.store.stops().map(\.receiver) == ["ops"])
    }

    @Test func `another site's page cannot log a browser in`() async throws {
        func logIn(_ headers: (name: String, value: String)...) async -> ConsoleAnswer {
            await fixture.sendLogin(headers: [("Host", "127.0.0.1:8090")] + headers)
        }
        for answer in [
            await logIn(("Origin", "https://evil.example")), await logIn(("Origin", "null"), ("Sec-Fetch-Site", "cross-site")),
            await logIn(("Sec-Fetch-Site", "same-site")),
        ] { #expect(answer.status == 403 && answer.field("Set-Cookie") == nil) }
        for answer in [
            await logIn(("Origin", "http://127.0.0.1:8090")), await logIn(("Origin", "null"), ("Sec-Fetch-Site", "same-origin")),
        ] { #expect(answer.status == 303 && answer.field("Set-Cookie") != nil) }
    }

    @Test func `scripts and other sites cannot read the cookie, and behind HTTPS it is secure`() async throws {
        let plain = try await ConsoleFixture()
        let secure = try await ConsoleFixture(publicURL: "https://bellhop.example")
        for (fixture, isSecure) in [(plain, false), (secure, true)] {
            let cookie = try #require(await fixture.sendLogin().field("Set-Cookie"))
            #expect(
                cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Lax") && cookie.hasSuffix("; Secure") == isSecure)
        }
    }

    @Test func `a browser keeps the cookie longer than the console keeps an idle session`() async throws {
        let cookie = try #require(await fixture.sendLogin().field("Set-Cookie"))
        let age = try #require(cookie.firstRange(of: "Max-Age=")).upperBound
        #expect(cookie[age...].prefix { $0.isNumber } == "\(400 * 86_400)")
    }

    @Test func `a browser can be logged in to two consoles on one host`() async throws {
        let first = try await ConsoleFixture(publicURL: "http://localhost:8091")
        let second = try await ConsoleFixture(publicURL: "http://localhost:8092")
        var jar: [String: String] = [:]
        for console in [first, second] {
            let field = try #require(await console.sendLogin().field("Set-Cookie"))
            let pair = field.prefix { $0 != ";" }.split(separator: "=")
            jar[String(pair[0])] = String(pair[1])
        }
        let cookies = jar.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
        for console in [first, second] {
            #expect(await console.desk.answer(ConsoleRequest("GET", "/", headers: [("Cookie", cookies)])).status == 200)
        }
    }

    @Test func `credentials for a proxy hide neither the login page nor a session, and give no access`() async throws {
        let browser = try await fixture.logIn(as: .viewer)
        let basic = (name: "Authorization", value: Base64.basic(username: "ada", password: "secret"))
        let cookie = (name: "Cookie", value: browser.cookie)
        #expect(await fixture.desk.answer(ConsoleRequest("GET", "/login", headers: [basic])).status == 200)
        #expect(await fixture.desk.answer(ConsoleRequest("GET", "/", headers: [basic, cookie])).status == 200)
        #expect(await fixture.desk.answer(ConsoleRequest("GET", "/", headers: [basic])).status == 303)
        let refused = await fixture.api("GET", "/status", as: nil, headers: [("Authorization", basic.value)])
        #expect(refused.status == 401 && refused.json["detail"]?.asString?.contains("Bearer") == true)
    }

    @Test func `a token with blanks in it, which bellhop.yaml may give a user, logs in on the page`() async throws {
        let fixture = try await ConsoleFixture(users: [.init(name: "ada", role: .viewer, token: "0123 4567 89ab cdef")])
        for token in ["0123 4567 89ab cdef", " 0123 4567 89ab cdef\n"] {
            #expect(await fixture.sendLogin(with: token).status == 303)
        }
        #expect(await fixture.sendLogin(with: "0123456789abcdef").status == 401)
    }

    @Test func `a login with a token never redirects to another site`() async throws {
        for next in ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"] {
            #expect(await fixture.sendLogin(next: next).field("Location") == "/")
        }
    }

    @Test func `the audit records each act with the person's name`() async throws {
        let browser = try await fixture.logIn(as: .operator)
        #expect(await browser.post("/rules/acknowledge/pause", [("reason", "too loud")]).status == 303)
        #expect(await browser.post("/writes/pause").status == 303)
        #expect(await browser.post("/silences", [("for", "2h"), ("reason", "switch update")]).status == 303)
        _ = try await fixture.view.ask(.removeToken(of: "nobody"))
        let rows = await fixture.api("GET", "/audit").json["rows"]?.asArray ?? []
        let entries = rows.reversed().compactMap { try? JSON.parse($0["entry"]?.asString ?? "") }
        let acts = entries.filter { $0["by"]?["user"] == "the operator" && $0["by"]?["command"] == "console" }
        #expect(acts.compactMap { $0["act"]?.asString } == ["pause", "pause", "silence add"], "\(entries)")
    }

    @Test func `a stored token is not accepted while bellhop.yaml gives its name to a user`() async throws {
        let token = ConsoleToken.random()
        let stored = ConsoleToken(
            name: "the operator", role: .admin, hash: ConsoleToken.hash(of: token), created: fixture.clock.now)
        // The token was made before bellhop.yaml named the user.
        var added = Inquirer(store: fixture.store, clock: fixture.clock).answer(.addToken(stored))
        _ = try await added.next()
        #expect(await fixture.status(with: token) == 401)
        #expect(await fixture.api("GET", "/status", as: .operator).status == 200)
    }
}
