import BellhopCore
import Testing

@testable import BellhopConnectors

struct WebhookCallTests {
    private func call(_ arguments: JSON.Object, to address: String = "https://x.example/hook") throws -> WebhookCall {
        try WebhookCall(arguments, to: HTTPAddress(address), delivery: SampleDelivery.webhook(arguments))
    }

    @Test func `a webhook without a body posts an empty one`() throws {
        let call = try call([:])
        #expect(call.request.method == "POST")
        #expect(call.request.body == [])
        #expect(call.request.headers["webhook-id"] == SampleDelivery.webhook([:]).id.text)
        #expect(call.expected == .success)
    }

    @Test func `a JSON body keeps the types of its values`() throws {
        let call = try call(["json": ["n": 1, "t": "<!channel> ${{ secret.x }} \"; DROP TABLE", "l": [true, .null]]])
        #expect(call.request.headers["Content-Type"] == "application/json")
        #expect(
            String(decoding: call.request.body ?? [], as: UTF8.self)
                == #"{"n":1,"t":"<!channel> ${{ secret.x }} \"; DROP TABLE","l":[true,null]}"#)
    }

    @Test func `forms and queries are encoded`() throws {
        let call = try call(
            ["form": ["a b": "c&d=é", "n": 3, "l": ["x", "y"], "none": .null], "query": ["q": "a/b?&"]],
            to: "https://x.example/h?k=1")
        #expect(String(decoding: call.request.body ?? [], as: UTF8.self) == "a%20b=c%26d%3D%C3%A9&n=3&l=x&l=y")
        #expect(call.request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(call.request.address.target == "/h?k=1&q=a%2Fb%3F%26")
    }

    @Test func `a value cannot add a header field`() throws {
        let call = try call(["headers": ["X-Title": "a\r\nX-Evil: 1\u{7F}"], "text": "t"])
        #expect(call.request.headers["X-Title"] == "a  X-Evil: 1")
        #expect(call.request.headers["Content-Type"] == "text/plain; charset=utf-8")
    }

    @Test func `a rule can set its own content type`() throws {
        let call = try call(["headers": ["content-type": "application/vnd.x+json"], "json": 1])
        #expect(call.request.headers.all("Content-Type") == ["application/vnd.x+json"])
        #expect(call.request.headers.all("webhook-id") == [SampleDelivery.webhook([:]).id.text])
    }

    @Test(
        arguments: [
            ["json": 1, "text": "x"], ["form": [:], "json": 1], ["method": "GET", "text": "x"], ["method": "get"],
            ["headers": ["Host": "x"]], ["headers": ["a b": "x"]], ["headers": ["Content-Length": "1"]],
            ["headers": ["Webhook-Id": "mine"]], ["headers": ["webhook-signature": "v1,AAAA"]], ["expect": ["2yy"]],
            ["expect": 99], ["expect": []],
        ] as [JSON.Object])
    func `invalid arguments are given up`(_ arguments: JSON.Object) {
        let failure = #expect(throws: Failure.self) { try call(arguments) }
        #expect(failure?.reason == .badArguments)
        #expect(failure?.remedy == .giveUp)
    }

    @Test func `expected statuses are numbers or classes`() throws {
        let statuses = try call(["expect": [204, "3xx", "418"]]).expected
        for (status, isExpected) in [(200, false), (204, true), (302, true), (399, true), (400, false), (418, true)] {
            #expect(statuses.contains(status) == isExpected)
        }
        #expect(try call(["expect": "2xx"]).expected.contains(226))
    }

    @Test func `a timeout and a deadline apply to the request`() throws {
        let delivery = SampleDelivery.webhook(["timeout": 5_000_000], expires: SampleDelivery.now + .seconds(60))
        let call = try WebhookCall(["timeout": 5_000_000], to: HTTPAddress("https://x.example/"), delivery: delivery)
        #expect(call.request.timeout == .seconds(5))
        #expect(call.request.notAfter == SampleDelivery.now + .seconds(60))
    }
}
