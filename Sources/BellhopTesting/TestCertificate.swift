/// A self-signed certificate of 127.0.0.1 with its key, valid from 2020 to 2126, so that no machine's date matters.
public struct TestCertificate: Sendable {
    public let certificate: String
    public let key: String

    public static let first = TestCertificate(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBkTCCATagAwIBAgIUBPH88uRoojo2tRkoF+vfFHJ5JjAwCgYIKoZIzj0EAwIw
            FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjYxMTAy
            MDgyMzE1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
            PQMBBwNCAASfrwKKDaLEWLmOFt+sMb5GJGbf/WKOE2YoQbZD/2B1jCdjs6PYIOgG
            tPT07itWdKoQSuTywDe489y7OKBmXhTfo2QwYjAdBgNVHQ4EFgQUM3zycUzc7MTg
            VJx7mOrW9FoeQlwwHwYDVR0jBBgwFoAUM3zycUzc7MTgVJx7mOrW9FoeQlwwDwYD
            VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
            IQDQax/kRwkiXbY9WSJFF+AUwQbV9Q+d/Y3HkmuT3q6UygIhAN+NsCLVx4eac1l0
            BrosWyqLmrsFDq+pg5q/FNKnJHHv
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgaUTb1y4Gxe6ZizxN
            7aXgJLDF1lLwR9GYhsX3l6X1pQ+hRANCAASfrwKKDaLEWLmOFt+sMb5GJGbf/WKO
            E2YoQbZD/2B1jCdjs6PYIOgGtPT07itWdKoQSuTywDe489y7OKBmXhTf
            -----END PRIVATE KEY-----
            """)

    public static let second = TestCertificate(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBbjCCARSgAwIBAgITHdVaWw3LxLymroOJ2LgodHCfjzAKBggqhkjOPQQDAjAU
            MRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyNjExMDIw
            ODA0NDdaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49
            AwEHA0IABM0jBwIGvIgjZzKk7FRLmabeJm+9tgNwW4bVp63+3L8eRhFYaNX/0hNF
            LEiTl2uyvJ20yuiz1StaLsjzs7yWqamjQzBBMB0GA1UdDgQWBBTjYgZDLA/qMN0E
            5Nlc9BvQ78O05DAPBgNVHRMBAf8EBTADAQH/MA8GA1UdEQQIMAaHBH8AAAEwCgYI
            KoZIzj0EAwIDSAAwRQIhAPzb59zA7cvnwBvCVDjB9z+GOvB+OduHtY1nJ7iTyT0e
            AiBmKbC2cyQlJ+ZMzREff+ob75OuxiEhXNA7WrsB+I7TaQ==
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgV68q1vrk+RmIoCPT
            o9RHqQ+s9WCKiKGrwV9YfHR2icShRANCAATNIwcCBryII2cypOxUS5mm3iZvvbYD
            cFuG1aet/ty/HkYRWGjV/9ITRSxIk5drsrydtMros9UrWi7I87O8lqmp
            -----END PRIVATE KEY-----
            """)
}
