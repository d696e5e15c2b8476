import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct PageSourceTests {
    let practice = Practice()
    var instance: SimulatedInstance { practice.instance }

    private func source(_ settings: JSON.Object = [:]) async throws -> any Source {
        var settings = settings
        if settings["path"] == nil { settings["path"] = "board.do" }
        let connection = try await practice.open()
        return try #require(try connection.source("board", kind: "page", settings: Settings(settings)))
    }

    /// A simulated API that has one issue, and a source that watches its list as a page.
    private func openWebPage(_ settings: Settings = Settings(["path": "list"])) async throws -> (WebPractice, any Source) {
        let practice = WebPractice()
        practice.api.add("Fan broken")
        let connection = try await practice.open()
        return (practice, try #require(try connection.source("page", kind: "page", settings: settings)))
    }

    private func read(_ source: any Source, after lastPoll: LastPoll = LastPoll()) async throws -> (Answer, Snapshot?) {
        let answer = try await source.list(from: lastPoll)
        let keys = answer.listing.entries.map(\.key)
        return (answer, try await source.details(of: keys, in: answer.listing).snapshots[keys[0]])
    }

    @Test func `a page is read in the instance's session, and an unchanged page is not sent again`() async throws {
        instance.setPage("/board.do", "<title>Board</title><body><h1>On call</h1><p>Ada</p></body>")
        let source = try await source()
        let (first, snapshot) = try await read(source)
        #expect(snapshot?.pageText == "On call\nAda")
        #expect(snapshot?.title == "Board" && snapshot?.className == "page")
        #expect(snapshot?.url.hasSuffix("/board.do") == true)
        #expect(source.shows == .page)
        let again = try await source.list(from: LastPoll(first))
        #expect(again.coverage == .same && again.fingerprint == first.fingerprint && again.cursor == first.cursor)
        instance.setPage("/board.do", "<title>Board</title><body><h1>On call</h1><p>Grace</p></body>")
        let (changed, other) = try await read(source, after: LastPoll(again))
        #expect(changed.fingerprint != first.fingerprint)
        #expect(other?.pageText == "On call\nGrace")
        let asked = practice.simulation.requests.matching(path: "/board.do")
        #expect(asked.map { $0.header("If-None-Match") == nil } == [true, false, false])
        #expect(asked.allSatisfy { $0.header("Cookie") != nil && $0.header("Authorization") == nil })
        #expect(instance.counts.logins == 1)
    }

    @Test func `content nested too deep fails the poll instead of being empty`() async throws {
        func page(_ depth: Int, _ inner: String) -> String {
            "<body>" + String(repeating: "<div>", count: depth) + inner + String(repeating: "</div>", count: depth) + "<p>End</p>"
        }
        func text(_ settings: JSON.Object) async throws -> String? {
            try await read(source(settings)).1?.pageText
        }
        let settings: JSON.Object = ["select": "#who"]
        for (depth, isRead) in [(200, true), (253, true), (300, false)] {
            instance.setPage("/board.do", page(depth, "<span id=who class=x>Ada</span>"))
            if isRead {
                #expect(try await text(settings) == "Ada")
            } else {
                let unread = await failure { _ = try await text(settings) }
                #expect(unread?.reason == .badAnswer)
                #expect(unread?.message.contains("`select` matches is nested more than 256 elements deep") == true)
            }
        }
        // The attribute belongs to the element itself; the text of the whole page is included at any depth.
        #expect(try await text(["select": "#who", "extract": ["attr": "class"]]) == "x")
        #expect(try await text([:]) == "Ada\nEnd")
        let ignoring = await failure { _ = try await text(["ignore": [["select": "#who"]]]) }
        #expect(ignoring?.message.contains("`ignore`") == true)
        // Elements that end inside the limit of depth do not end elements outside it.
        instance.setPage("/board.do", "<main>" + page(300, "<b>Ada</b>") + "<p id=last>Grace</p></main>")
        #expect(try await text(["select": "main"]) == "Ada\nEnd\nGrace")
    }

    @Test func `after a restart an unchanged page costs one small request`() async throws {
        instance.setPage("/board.do", "<p>Ada</p>")
        let answer = try await source().list(from: LastPoll())
        let source = try await source()
        #expect(try await source.list(from: LastPoll(answer)).coverage == .same)
        // If the answer must be read in any case, the request does not mention the stored one.
        let (whole, snapshot) = try await read(source, after: LastPoll(cursor: answer.cursor))
        #expect(whole.coverage == .whole && snapshot?.pageText == "Ada")
    }

    @Test(arguments: [Fault.redirectToLogin, .loginPage, .sessionLost])
    func `an ended session is opened again once, and the page requested again`(_ fault: Fault) async throws {
        instance.setPage("/board.do", "<p>Ada</p>")
        let source = try await source()
        _ = try await source.list(from: LastPoll())
        practice.simulation.faults.add(fault, path: "/board.do")
        let (_, snapshot) = try await read(source)
        #expect(snapshot?.pageText == "Ada")
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
        #expect(practice.simulation.requests.count("GET", path: "/board.do") == 3)
    }

    @Test func `a second login page after a new login is an error, not an endless loop`() async throws {
        instance.setPage("/board.do", "<p>Ada</p>")
        practice.simulation.faults.add(.redirectToLogin, path: "/board.do", times: nil)
        let source = try await source()
        let found = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(found?.reason == .sessionExpired)
        #expect(practice.simulation.requests.count("GET", path: "/board.do") == 2)
    }

    @Test func `redirects inside the instance are followed, and others are not`() async throws {
        instance.setPage("/board.do", "<p>Ada</p>")
        instance.setRedirect("/old.do", to: "/board.do")
        instance.setRedirect("/round.do", to: "/round.do")
        instance.setRedirect("/away.do", to: "https://idp.example.com/sso")
        let page = try await read(source(["path": "/old.do"])).1
        #expect(page?.pageText == "Ada")
        for (path, reason) in [
            ("round.do", Failure.Reason.unexpectedPage), ("away.do", .loginRequired), ("gone.do", .goneOrHidden),
        ] {
            let source = try await source(["path": .string(path)])
            let found = await failure { _ = try await source.list(from: LastPoll()) }
            #expect(found?.reason == reason, "\(path): \(found?.message ?? "none")")
        }
    }

    @Test(arguments: ["https://far.example.com/board", "http://127.0.0.2:8080/x"])
    func `a redirect to another host is reported, and ends no session`(_ target: String) async throws {
        instance.setRedirect("/far.do", to: target)
        let source = try await source(["path": "far.do?token=x"])
        let found = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(found?.reason == .refused && found?.remedy == .giveUp)
        #expect(
            found?.message.contains(
                "/far.do redirects to another host, \(target.contains("far") ? "far.example.com" : "127.0.0.2")") == true)
        #expect(found?.message.contains("token") == false)
        #expect(practice.events.summary == ["login_event ok"])
        #expect(instance.counts.logins == 1)
        #expect(practice.simulation.requests.count("GET", path: "/far.do") == 1)
    }

    @Test func `a page that redirects to another host because the session ended is requested again after a login`() async throws {
        instance.setPage("/board.do", "<p>Ada</p>")
        let source = try await source()
        _ = try await source.list(from: LastPoll())
        practice.simulation.faults.add(.redirect(to: "https://portal.example.com/"), path: "/board.do")
        practice.simulation.faults.add(.redirectToLogin, path: "/api/now/v2/table/sys_user")
        #expect(try await read(source).1?.pageText == "Ada")
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
    }

    @Test(arguments: [
        ("https://idp.example.com/", true), ("https://acme.okta.com/app/x", true), ("https://adfs.acme.com/adfs/ls/", true),
        ("https://accounts.google.com/x", true), ("https://x.example.com/login?next=1", true),
        ("https://x.example.com/a?SAMLRequest=abc", true), ("https://x.example.com/board", false),
        ("https://x.example.com/a?next=login", false), ("https://authors.example.com/blog", false),
    ])
    func `a login address is recognized by words in its path`(_ address: String, _ isLogin: Bool) throws {
        #expect(LoginPage.isLogin(try HTTPAddress(address)) == isLogin)
    }

    @Test(arguments: ["nopage", "gone.do"])
    func `a missing page is reported as missing, with its path`(_ path: String) async throws {
        let source = try await source(["path": .string(path)])
        let found = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(found?.reason == .goneOrHidden)
        #expect(found?.message.contains("/\(path) is not there") == true, "\(found?.message ?? "")")
        #expect(found?.message.contains("Tracker") == false)
    }

    @Test func `no message contains a secret in the address of a missing page`() async throws {
        let connection = try await practice.open()
        let settings = Settings(["path": "k3y-of-mine/gone"], secrets: ["k3y-of-mine"])
        let source = try #require(try connection.source("board", kind: "page", settings: settings))
        let found = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(found?.message.contains("/gone is not there") == true)
        #expect(found?.message.contains("k3y") == false)
    }

    @Test func `pages are preloaded once, before the first poll, and failures are reported`() async throws {
        instance.setPage("/board.do", "<p>Ada</p>")
        instance.setPage("/warm.do", "<p>warm</p>")
        let source = try await source(["preload": ["warm.do", "cold.do"]])
        let notices = try await source.list(from: LastPoll()).notices
        #expect(notices.count == 1 && notices[0].contains("could not preload") && notices[0].contains("/cold.do"))
        _ = try await source.list(from: LastPoll())
        let paths = practice.simulation.requests.all.map(\.path).filter { $0.hasSuffix(".do") }
        #expect(paths == ["/warm.do", "/cold.do", "/board.do", "/board.do"])
    }

    @Test func `only the selected parts of a page count, without the ignored ones`() async throws {
        func text(_ settings: JSON.Object, _ html: String) async throws -> String? {
            instance.setPage("/board.do", html)
            return try await read(source(settings)).1?.pageText
        }
        let html = "<div id=a><p>Ada <a href=/x>x</a></p><i class=time>10:30</i></div><div>token deadbeef</div>"
        #expect(try await text(["select": "#a p"], html) == "Ada x")
        #expect(try await text(["select": "a", "extract": ["attr": "href"]], html) == "/x")
        #expect(try await text(["select": "p", "extract": "html"], html) == "<p>\nAda\n<a href=\"/x\">x</a>\n</p>")
        #expect(try await text(["ignore": [["select": ".time"], "[0-9a-f]{8}"]], html) == "Ada x\ntoken …")
        let missing = await failure { _ = try await text(["select": ".missing"], html) }
        #expect(missing?.reason == .badAnswer && missing?.message.contains("select") == true)
    }

    @Test(
        arguments: [
            (["path": "https://other.service-now.com/x.do"], "path"), (["path": "//other/x"], "path"),
            (["path": "javascript:alert(1)"], "path"), (["path": "file:///etc/passwd"], "path"),
            (["path": "a", "preload": ["https://evil.example/"]], "preload"), (["path": "a", "select": "li >"], "select"),
            (["path": "a", "ignore": ["("]], "ignore"), (["path": "a", "ignore": [["select": "!"]]], "ignore"),
            (["path": "a", "extract": ["attr": "href"]], "extract"),
        ] as [(JSON.Object, String)])
    func `invalid settings, such as a page on another host, are refused by name`(
        _ settings: JSON.Object, _ setting: String
    ) throws {
        let connection = try practice.connection("http://127.0.0.1:1")
        let error = #expect(throws: ConnectorError.self) {
            try connection.source("board", kind: "page", settings: Settings(settings))
        }
        #expect(error?.setting == setting)
        #expect(throws: Never.self) {
            try connection.source("board", kind: "page", settings: Settings(["path": "http://127.0.0.1:1/board.do?x=1"]))
        }
    }

    @Test func `any web page can be watched over an http connection`() async throws {
        let (practice, source) = try await openWebPage()
        let (answer, snapshot) = try await read(source)
        #expect(snapshot?.pageText.contains("Fan broken") == true)
        #expect(try await source.list(from: LastPoll(answer)).coverage == .same)
        #expect(practice.simulation.requests.all.last?.header("If-None-Match") != nil)
    }

    @Test func `an answer 304 to an unconditional request is an error, not an empty page`() async throws {
        let (practice, source) = try await openWebPage()
        let (answer, _) = try await read(source)
        practice.api.quirks = [.alwaysUnchanged]
        for lastPoll in [LastPoll(), LastPoll(cursor: answer.cursor), LastPoll(answer: answer.fingerprint)] {
            let found = await failure { _ = try await source.list(from: lastPoll) }
            #expect(found?.reason == .badAnswer && found?.message.contains("unexpected 304") == true)
        }
        #expect(try await source.list(from: LastPoll(answer)).coverage == .same)
        for status in [202, 206] {
            practice.api.quirks = []
            practice.simulation.faults.add(.status(status, body: "Just a moment"))
            #expect(await failure { _ = try await source.list(from: LastPoll()) }?.reason == .badAnswer)
        }
    }

    @Test func `a secret in a page's address is in no task, key or message`() async throws {
        instance.setPage("/k3y-of-mine/board.do", "<p>Ada</p>")
        let settings = Settings(
            ["path": "k3y-of-mine/board.do?token=pass%2Fword&list=a", "select": "p"], secrets: ["k3y-of-mine", "pass/word"])
        let connection = try await practice.open()
        let made = try connection.source("board", kind: "page", settings: settings)
        let source = try #require(made)
        let (answer, snapshot) = try await read(source)
        #expect(snapshot?.url.hasSuffix("/•••/board.do?token=•••&list=a") == true, "\(snapshot?.url ?? "")")
        #expect(answer.listing.entries.map(\.key) == ["-/board.do"])
        instance.setPage("/k3y-of-mine/board.do", "<i>none</i>")
        let found = await failure { _ = try await source.list(from: LastPoll()) }
        let message = try #require(found?.message)
        for text in [message, "\(source.scope)"] { #expect(!text.contains("k3y") && !text.contains("word"), "\(text)") }
        #expect(practice.simulation.requests.all.last?.query == "token=pass%2Fword&list=a")
    }

    @Test(arguments: [
        (
            #"{"error": {"message": "User Not Authenticated", "detail": null}, "status": "failure"}"#,
            Failure.Reason.sessionExpired
        ),
        (
            "<html><body onload=\"document.forms[0].submit()\"><form action=\"https://idp\"><input name=SAMLRequest></form></body>",
            .sessionExpired
        ),
        ("<html><head><meta http-equiv=\"refresh\" content=\"0;url=/login.do\"></head></html>", .sessionExpired),
        ("<script>top.location.href = '/login_redirect.do';</script>", .sessionExpired),
        ("<form action=login.do><input name=user><input type=\"password\" name=pw></form>", .sessionExpired),
        ("", .badAnswer),
    ])
    func `another page in place of an instance's page is not accepted`(_ body: String, _ reason: Failure.Reason) async throws {
        instance.setPage("/board.do", "<p>Ada</p>")
        let source = try await source()
        let (answer, _) = try await read(source)
        practice.simulation.faults.add(.status(200, body: body), path: "/board.do", times: nil)
        let found = await failure { _ = try await source.list(from: LastPoll(cursor: answer.cursor)) }
        #expect(found?.reason == reason, "\(found?.message ?? "none")")
    }

    @Test(arguments: [
        ("", Failure.Reason.badAnswer), ("<form><input name=user><input type=password></form>", .unexpectedPage),
        ("<form action='https://idp'><input name='SAMLResponse' value='x'></form>", .unexpectedPage),
        ("<script>window.location = '/login'</script>", .unexpectedPage),
    ])
    func `another page in place of a site's page is not accepted`(_ body: String, _ reason: Failure.Reason) async throws {
        let (practice, source) = try await openWebPage()
        practice.simulation.faults.add(.status(200, body: body))
        let found = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(found?.reason == reason, "\(found?.message ?? "none")")
    }

    @Test func `a JSON error, or a hibernating instance, fails the poll of a site's page`() async throws {
        let settings = Settings(["path": "list?key=pass%2Fword"], secrets: ["pass/word"])
        let (practice, source) = try await openWebPage(settings)
        practice.simulation.faults.add(.status(200, body: " {\"error\": {\"message\": \"boom of pass/word\"}}"))
        let found = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(found?.reason == .serverError)
        #expect(
            found?.message.hasSuffix("was answered with an error as JSON (200): boom of •••.") == true,
            "\(found?.message ?? "")")
        practice.simulation.faults.add(.hibernating)
        let asleep = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(asleep?.reason == .hibernating && asleep?.remedy == .retry(after: .seconds(300)))
        // JSON without an error is a valid page.
        for body in ["{\"error\": null, \"load\": 3}", "{\"errors\": 3}", "[{\"error\": \"boom\"}]"] {
            practice.simulation.faults.add(.status(200, body: body))
            let page = try await read(source).1
            #expect(page?.pageText.contains("error") == true)
        }
    }
}
